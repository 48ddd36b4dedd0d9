import ChangeFeed
import ChangeFeedSQLite
import Foundation

/// What the process does with a store of somebody else's.
struct Visitor {
    private let file: String
    private let zoneID = RecordZone.ID(zoneName: "Notes")

    init(file: String) {
        self.file = file
    }

    /// Reads all notes so many times, and says each time which texts they have, each text once.
    func read(times: Int) async throws {
        let store = await openOrEnd(file, .readOnly)
        say("ready")
        for _ in 0..<times { say(try await texts(in: store).joined(separator: " ")) }
        await store.close()
        say("done")
    }

    /// Reads all notes and adds one; says `done`, or which typed error there was. Whatever else happens ends the process.
    func use() async throws {
        do throws(ChangeFeedError) {
            let store = try await SQLiteStore.open(at: URL(fileURLWithPath: file))
            _ = try await texts(in: store)
            _ = try await store.integrityCheck()
            let database = Container(identifier: "test", store: store).database(.private, for: "anna")
            _ = try await database.databaseChanges(since: nil)
            try await database.save(
                Record(recordType: "Note", recordID: Record.ID(recordName: "added", zoneID: zoneID)))
            await store.close()
            say("done")
        } catch {
            say("error: \(error.code)")
        }
    }

    private func texts(in store: SQLiteStore) async throws(ChangeFeedError) -> [String] {
        let database = Container(identifier: "test", store: store).database(.private, for: "anna")
        var texts: Set<String> = []
        var token: ZoneChangeToken?
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            for record in page.modifications { texts.insert(record["text"] ?? "") }
            token = page.changeToken
            if !page.moreComing { return texts.sorted() }
        }
    }
}
