import ChangeFeed
import ChangeFeedSQLite

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The files of a durable replay: the store, and beside it what the devices hold ("-devices").
struct ReplayFiles: Sendable {
    private let store: SQLiteStore
    private let devices: DeviceFile

    /// Opens the files, or makes them; one process at a time.
    ///
    /// - Throws: a `ChangeFeedError` or a `ReplayFailure` where one of them is something else, cannot be written to, or
    ///   is open elsewhere.
    init(at path: String, durability: SQLiteStore.Configuration.Durability) async throws {
        let store = try await SQLiteStore.open(
            at: URL(fileURLWithPath: path), configuration: .init(durability: durability, readers: 1))
        do {
            let (storeID, others) = try await store.read { (reader) throws(ChangeFeedError) in
                (reader.storeID, try reader.databaseIDs.filter { $0 != Replay.databaseID })
            }
            guard others.isEmpty else {
                throw ReplayFailure("the store \(shown(path)) is not a replay's, but in use for something else")
            }
            devices = try DeviceFile(at: path + "-devices", following: storeID)
        } catch {
            await store.close()
            throw error
        }
        self.store = store
    }

    /// The feed in the store, as `options` ask for it.
    func database(for options: ReplayOptions) -> any RecordDatabase {
        Replay.database(for: options, in: store)
    }

    /// What the device called `name` keeps.
    func storage(ofDevice name: String) -> any DeviceStorage {
        DurableDeviceStorage(file: devices, device: name)
    }

    /// Closes the store, so that it can be opened again.
    func close() async {
        await store.close()
    }
}
