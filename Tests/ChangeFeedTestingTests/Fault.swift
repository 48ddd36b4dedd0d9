/// What a ``FaultyStore`` does wrong, and the check that is there to find it.
enum Fault: String, Sendable, CaseIterable {
    // Transactions
    case keepsWhatThrew = "transactions.nothingLeft"
    case runsBodiesTwice = "transactions.once"
    case readsTheStateBefore = "transactions.visible"
    case losesUpdates = "concurrency.counters"
    case repeatsPositions = "positions.increasing"
    case headLags = "positions.head"
    case reversesEpochs = "epochs.order"
    case rollsNothingBack = "undo.savepoint.newRecord"
    case rollsLinksNotBack = "undo.savepoint.newLink"
    case rollsMetaNotBack = "undo.savepoint.newMeta"

    // Zones
    case reversesZones = "zones.order"
    case beginsZonesTooEarly = "zones.after"
    case neverStopsZones = "zones.stop"
    case mixesDatabases = "zones.databases"
    case erasesNothing = "zones.erase"
    case keepsTheEarlierLife = "zones.anotherLife"
    case discardsLivingZones = "zones.discardLiving"
    case forgetsHorizons = "zones.discard"
    case lowersHorizons = "zones.horizons"
    case forgetsDiscardedHeads = "zones.head"
    case refusesUnknownKeys = "zones.unknownKey"

    // Records
    case losesFields = "records.payloads"
    case losesEncryptedFields = "records.encrypted"
    case losesParents = "records.parents"
    case roundsDates = "records.dates"
    case confusesUsers = "records.users"
    case normalisesNames = "records.names"
    case appendsTombstones = "scans.merged"
    case beginsRecordsTooEarly = "scans.after"
    case showsOldTombstones = "scans.tombstonesAfter"
    case swallowsErrors = "scans.throw"
    case countsTombstonesForEver = "tombstones.count"
    case losesTagsOfTombstones = "tombstones.fields"
    case discardsNoTombstone = "tombstones.discard"

    // Small things
    case mixesKindsOfLinks = "links.kinds"
    case countsLinksTwice = "links.twice"
    case reversesMeta = "meta.order"
    case takesEmptyForNone = "meta.empty"
    case removesNoKey = "meta.remove"
    case mixesTables = "meta.tables"

    // Lifetime
    case restoresNothing = "snapshots.restore"
    case losesMetaWhenClosed = "reopening.keeps"

    /// The check that is named for it.
    var checkID: String { rawValue }
}
