#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a device keeps what it has fetched: a page's changes and the state of its engine after them together, or
/// neither.
protocol DeviceStorage: Sendable {
    /// The state of the device's engine; nil where nothing was kept.
    func state() async throws(ReplayFailure) -> Data?
    /// Goes by `changes` in their order and keeps `state`, in one step.
    func keep(_ state: Data?, after changes: [DeviceChange]) async throws(ReplayFailure)
    /// All files that the device holds, by path.
    func files() async throws(ReplayFailure) -> [[UInt8]: GitFile]
}

/// What a page tells a device to do with a record, by the record's name.
enum DeviceChange: Equatable, Sendable {
    case put(record: String, path: [UInt8], GitFile)
    /// The record may never have been here: what came and went between two fetches is told of as gone.
    case remove(record: String)
}

/// What a device keeps for as long as the process runs.
actor MemoryDeviceStorage: DeviceStorage {
    private var kept: Data?
    private var records: [String: (path: [UInt8], file: GitFile)] = [:]

    func state() -> Data? { kept }

    func keep(_ state: Data?, after changes: [DeviceChange]) {
        for change in changes {
            switch change {
            case .put(let record, let path, let file): records[record] = (path, file)
            case .remove(let record): records[record] = nil
            }
        }
        kept = state
    }

    func files() -> [[UInt8]: GitFile] {
        Dictionary(records.values.map { ($0.path, $0.file) }) { _, last in last }
    }
}
