#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A record's change tag: a new value at every successful save, compared for equality only (rule R8).
public struct RecordChangeTag: Sendable {
    private enum Form {
        case minted(epoch: UInt64, position: ChangePosition)
        case text(String)
    }

    private let form: Form

    /// The tag of a record that was written at a position. The nonce of its epoch makes it differ from every tag that
    /// the store gave before it was restored (rule 6.1.5).
    public init(epoch: UInt64, position: ChangePosition) {
        form = .minted(epoch: epoch, position: position)
    }

    /// The tag of a server that is not this library.
    public init(_ text: String) {
        form = .text(text)
    }

    /// Where the record was written, if this library's store wrote it.
    @inline(__always)
    var position: ChangePosition? {
        guard case .minted(_, let position) = form else { return nil }
        return position
    }

    /// The nonce of the epoch in which the record was written, if this library's store wrote it.
    public var epoch: UInt64? {
        guard case .minted(let epoch, _) = form else { return nil }
        return epoch
    }

    /// The tag as text.
    public var text: String {
        switch form {
        case .minted(let epoch, let position):
            let high = position.high == 0 ? "" : String(position.high, radix: 36) + "_"
            return high + String(position.low, radix: 36) + "-" + String(epoch, radix: 36)
        case .text(let text):
            return text
        }
    }
}

extension RecordChangeTag: Hashable {
    /// Whether both tags are the same text.
    public static func == (left: RecordChangeTag, right: RecordChangeTag) -> Bool {
        switch (left.form, right.form) {
        case (.minted(let leftEpoch, let leftPosition), .minted(let rightEpoch, let rightPosition)):
            leftEpoch == rightEpoch && leftPosition == rightPosition
        default:
            sameBytes(left.text, right.text)
        }
    }

    /// Hashes the text.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}

/// What a server knows of a record beside its fields (rule R6).
public struct RecordSystemFields: Sendable, Hashable {
    /// The tag of this version.
    public let changeTag: RecordChangeTag
    /// When the server first stored this id.
    public let creationDate: Date
    /// When the server stored this version.
    public let modificationDate: Date
    /// Who created the record.
    public let creatorUserID: String
    /// Who saved this version.
    public let lastModifiedUserID: String

    /// System fields from all their parts.
    public init(
        changeTag: RecordChangeTag,
        creationDate: Date,
        modificationDate: Date,
        creatorUserID: String,
        lastModifiedUserID: String
    ) {
        self.changeTag = changeTag
        self.creationDate = creationDate
        self.modificationDate = modificationDate
        self.creatorUserID = creatorUserID
        self.lastModifiedUserID = lastModifiedUserID
    }
}

/// Which fields of a version its holder has.
public enum LoadedFields: Sendable, Hashable {
    /// All of them.
    case all
    /// Those of a fetch that asked for these keys (rule FZ3).
    case keys(Set<String>)
    /// None: the record was rebuilt from its system fields alone (rule R7).
    case none
}

/// One version of a record, immutable and shared: what a store keeps as a row, and what a ``Record`` starts from.
public final class RecordVersion: Sendable {
    /// The record's identity.
    public let recordID: Record.ID
    /// The record's type.
    public let recordType: String
    /// What the server knows; nil for a record that no server has seen.
    public let system: RecordSystemFields?
    /// The record's parent in a hierarchy; nil if it has none.
    public var parent: Record.Reference? { rare?.parent }
    /// The fields.
    public let payload: Payload
    /// Which fields ``payload`` speaks for.
    public let loadedFields: LoadedFields

    /// What is encrypted of the fields: sealed in a store, open in a record; nil if nothing is.
    public var encryptedPayload: Payload? { rare?.encryptedPayload }

    /// The way to the contents of the fetched assets; nil in a store, and where there is none.
    var assets: RecordAssets? { rare?.assets }

    /// What few records have, kept apart so that the others do not pay for it.
    private final class Rare: Sendable {
        let parent: Record.Reference?
        let encryptedPayload: Payload?
        let assets: RecordAssets?

        init(parent: Record.Reference?, encryptedPayload: Payload?, assets: RecordAssets?) {
            self.parent = parent
            self.encryptedPayload = encryptedPayload
            self.assets = assets
        }
    }
    private let rare: Rare?

    /// A version from all its parts.
    public convenience init(
        recordID: Record.ID,
        recordType: String,
        system: RecordSystemFields?,
        parent: Record.Reference? = nil,
        payload: Payload,
        encryptedPayload: Payload? = nil,
        loadedFields: LoadedFields = .all
    ) {
        self.init(
            recordID: recordID, recordType: recordType, system: system, parent: parent, payload: payload,
            encryptedPayload: encryptedPayload, loadedFields: loadedFields, assets: nil)
    }

    private init(
        recordID: Record.ID, recordType: String, system: RecordSystemFields?, parent: Record.Reference?,
        payload: Payload, encryptedPayload: Payload?, loadedFields: LoadedFields, assets: RecordAssets?
    ) {
        self.recordID = recordID
        self.recordType = recordType
        self.system = system
        self.payload = payload
        self.loadedFields = loadedFields
        let hasRare = parent != nil || encryptedPayload != nil || assets != nil
        rare = hasRare ? Rare(parent: parent, encryptedPayload: encryptedPayload, assets: assets) : nil
    }

    /// The same version with other encrypted fields.
    func with(encryptedPayload: Payload?) -> RecordVersion {
        RecordVersion(
            recordID: recordID, recordType: recordType, system: system, parent: parent, payload: payload,
            encryptedPayload: encryptedPayload, loadedFields: loadedFields, assets: assets)
    }

    /// The same version with a way to the contents of its assets.
    func with(assets: RecordAssets) -> RecordVersion {
        RecordVersion(
            recordID: recordID, recordType: recordType, system: system, parent: parent, payload: payload,
            encryptedPayload: encryptedPayload, loadedFields: loadedFields, assets: assets)
    }

    /// Where the version stands in its store's history; before everything if no store of this library wrote it.
    @inline(__always)
    package var position: ChangePosition { system?.changeTag.position ?? .beginning }

    /// About how many bytes the version has in a page.
    var byteCount: Int { fieldBytes + recordID.recordName.utf8.count + recordType.utf8.count + 64 }

    /// How many bytes the fields have: what the limit of a record and a user's quota count.
    var fieldBytes: Int { payload.byteCount + (encryptedPayload?.byteCount ?? 0) }
}
