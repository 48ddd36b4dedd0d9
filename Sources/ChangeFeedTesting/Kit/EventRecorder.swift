import ChangeFeed
import SyncEngineCore

/// Keeps the events of an engine as text, in their order.
public final class EventRecorder: Sendable {
    private let content = Locked<[String]>([])

    /// A recorder that has heard nothing.
    public init() {}

    /// The events, oldest first.
    public var events: [String] { content.withLock { $0 } }

    /// The events but those of one name.
    public func events(except names: String...) -> [String] {
        events.filter { event in !names.contains { event.hasPrefix($0) } }
    }

    /// Forgets everything.
    public func reset() { content.withLock { $0 = [] } }

    /// Keeps an event.
    public func record(_ event: SyncEngine.Event) { content.withLock { $0.append(EventRecorder.text(of: event)) } }

    /// What is said of an event: its name, and what tells it from others of its name.
    public static func text(of event: SyncEngine.Event) -> String {
        switch event {
        case .accountChange(.signIn(let user)): "accountChange signIn \(user)"
        case .accountChange(.signOut(let user, _)): "accountChange signOut \(user)"
        case .accountChange(.switchAccounts(let old, let new, _)): "accountChange switchAccounts \(old) \(new)"
        case .fetchedDatabaseChanges(let changes):
            (["fetchedDatabaseChanges"] + changes.modifications.map { "+\($0)" }
                + changes.deletions.map { "-\($0.zoneID)(\($0.reason))" }).joined(separator: " ")
        case .fetchedRecordZoneChanges(let changes):
            "fetchedRecordZoneChanges \(changes.zoneID) \(changes.modifications.count)+\(changes.deletions.count)-"
        case .willFetchRecordZoneChanges(let will):
            "willFetchRecordZoneChanges \(will.zoneID)" + (will.isResync ? " resync" : "")
        case .didFetchRecordZoneChanges(let did):
            "didFetchRecordZoneChanges \(did.zoneID)" + (did.error.map { " \($0.code)" } ?? "")
                + (did.resync == nil ? "" : " resync")
        case .sentDatabaseChanges(let sent):
            (["sentDatabaseChanges"] + sent.savedZones.map { "+\($0.zoneID)" } + sent.deletedZoneIDs.map { "-\($0)" }
                + sent.failedZoneSaves.map { "!\($0.zone.zoneID)" }).joined(separator: " ")
        case .sentRecordZoneChanges(let sent):
            "sentRecordZoneChanges \(sent.savedRecords.count)+\(sent.deletedRecordIDs.count)-"
                + "\(sent.failedRecordSaves.count + sent.failedRecordDeletes.count)!"
        default: event.name
        }
    }
}
