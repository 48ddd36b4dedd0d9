import ChangeFeed

/// Where a device keeps what it has fetched: a page's changes and the token after them together, or neither.
protocol DeviceStorage: Sendable {
    /// How far the device has come; that of a new device where nothing was kept.
    func progress() async throws(ReplayFailure) -> DeviceProgress
    /// Goes by `changes` in their order and keeps `progress`, in one step.
    func keep(_ progress: DeviceProgress, after changes: [DeviceChange]) async throws(ReplayFailure)
    /// All files that the device holds, by path.
    func files() async throws(ReplayFailure) -> [[UInt8]: GitFile]
}

/// How far a device has come.
struct DeviceProgress: Equatable, Sendable {
    var databaseToken: DatabaseChangeToken?
    var zoneToken: ZoneChangeToken?
    /// Whether the zone has more for the device than it has fetched, as far as it knows.
    var isBehind = false
}

/// What a page tells a device to do with a record, by the record's name.
enum DeviceChange: Equatable, Sendable {
    case put(record: String, path: [UInt8], GitFile)
    /// The record may never have been here: what came and went between two fetches is told of as gone.
    case remove(record: String)
}

/// What a device keeps for as long as the process runs.
actor MemoryDeviceStorage: DeviceStorage {
    private var kept = DeviceProgress()
    private var records: [String: (path: [UInt8], file: GitFile)] = [:]

    func progress() -> DeviceProgress { kept }

    func keep(_ progress: DeviceProgress, after changes: [DeviceChange]) {
        for change in changes {
            switch change {
            case .put(let record, let path, let file): records[record] = (path, file)
            case .remove(let record): records[record] = nil
            }
        }
        kept = progress
    }

    func files() -> [[UInt8]: GitFile] {
        Dictionary(records.values.map { ($0.path, $0.file) }) { _, last in last }
    }
}
