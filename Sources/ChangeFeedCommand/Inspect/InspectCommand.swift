import ChangeFeed
import ChangeFeedSQLite
import Foundation

extension Subcommand {
    /// `changefeed inspect`: what a store in a file holds.
    static let inspect = Subcommand(
        name: "inspect",
        summary: "show what a store in a file holds, or what has changed in one of its zones",
        discussion: """
            Shows the zones of FILE with their records, tombstones, the position of their latest event and their horizon,
            the store's head, and the size of each table. With --zone it shows the changes of that zone instead, all of
            them or those since a token, and the token to go on from. Nothing is written; a process that writes to the
            store may go on.

            Exit status: 0, or 2 where the file is no store, cannot be read, or has no such zone.
            """,
        operands: "FILE",
        options: [
            .text("zone", "NAME", "show the changes of this zone"),
            .text("since", "TOKEN", "only those since a token that this command printed"),
            .text("user", "NAME", "whose zone it is (needed where several users have one of that name)"),
            .flag("json", "print one JSON object"),
        ]
    ) { arguments, console in
        let request = try InspectRequest(arguments)
        let store = try await SQLiteStore.open(
            at: URL(fileURLWithPath: request.path), configuration: .init(access: .readOnly, readers: 1))
        let text = try await request.answer(from: store)
        await store.close()
        try console.write(text, to: .output)
        return .success
    }
}

/// What `changefeed inspect` was asked for.
struct InspectRequest: Equatable, Sendable {
    let path: String
    let zone: String?
    let since: ZoneChangeToken?
    let user: String?
    let json: Bool

    init(_ arguments: Arguments) throws {
        guard let path = arguments.positionals.first, !path.isEmpty else {
            throw UsageError("name the file of a store")
        }
        if arguments.positionals.count > 1 {
            throw UsageError("one file at a time: \(shown(arguments.positionals[1])) is one argument too many")
        }
        self.path = path
        zone = arguments.texts["zone"]
        user = arguments.texts["user"]
        json = arguments.flags.contains("json")
        if zone == nil, let name = ["since", "user"].first(where: { arguments.texts[$0] != nil }) {
            throw UsageError("--\(name) needs --zone")
        }
        guard let text = arguments.texts["since"] else {
            since = nil
            return
        }
        guard let data = Data(base64Encoded: text), let token = try? ZoneChangeToken(data: data) else {
            throw UsageError("--since takes a token as this command prints it, not \(shown(text))")
        }
        since = token
    }

    func answer(from store: SQLiteStore) async throws -> String {
        let summary = try await StoreSummary(of: store)
        guard let zone else { return json ? try Self.object(summary) : summary.text }
        let users = summary.zones.filter { $0.zone == zone && (user == nil || $0.user == user) }.map(\.user)
        guard let owner = users.first else { throw UsageError("the store has no zone \(shown(zone))") }
        guard !owner.isEmpty else {
            throw UsageError("the zone \(shown(zone)) is the public database's, which tracks no changes")
        }
        guard users.count == 1 else {
            throw UsageError(
                "\(users.count) users have a zone \(shown(zone)): name one with --user, such as \(shown(owner))")
        }
        let database = Container(identifier: "inspect", store: store).database(.private, for: owner)
        let changes = try await ZoneSummary(of: RecordZone.ID(zoneName: zone), in: database, since: since)
        return json ? try Self.object(changes) : changes.text
    }

    /// A value as one JSON object on one line.
    static func object(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }
}
