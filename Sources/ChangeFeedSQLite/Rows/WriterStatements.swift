import ChangeFeed

/// The statements that write, prepared once for the writing connection.
struct WriterStatements {
    let begin: SQLiteStatement
    let commit: SQLiteStatement
    let rollBack: SQLiteStatement
    let updateState: SQLiteStatement
    let insertEpoch: SQLiteStatement
    let insertDatabase: SQLiteStatement
    let raiseZoneHorizon: SQLiteStatement
    let raisePastDeletionHorizon: SQLiteStatement
    let updateZone: SQLiteStatement
    let insertZone: SQLiteStatement
    let deleteZone: SQLiteStatement
    let countTombstones: SQLiteStatement
    let insertRecord: SQLiteStatement
    let deleteRecord: SQLiteStatement
    let insertTombstone: SQLiteStatement
    let deleteTombstone: SQLiteStatement
    let insertEntry: SQLiteStatement
    let updateEntry: SQLiteStatement
    let deleteEntry: SQLiteStatement
    let selectEntry: SQLiteStatement
    let insertName: SQLiteStatement
    let deleteName: SQLiteStatement
    let insertLink: SQLiteStatement
    let deleteLink: SQLiteStatement
    let deleteLinks: SQLiteStatement
    let insertMeta: SQLiteStatement
    let deleteMeta: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(ChangeFeedError) {
        func prepare(_ sql: String) throws(ChangeFeedError) -> SQLiteStatement { try connection.prepare(sql) }
        begin = try prepare("BEGIN IMMEDIATE")
        commit = try prepare("COMMIT")
        rollBack = try prepare("ROLLBACK")
        updateState = try prepare("UPDATE state SET head = ?1, zones = ?2, entries = ?3, epochs = ?4")
        insertEpoch = try prepare("INSERT INTO epoch (nonce, first_position) VALUES (?1, ?2)")
        insertDatabase = try prepare("INSERT INTO \"database\" (scope, user) VALUES (?1, ?2) RETURNING id")
        raiseZoneHorizon = try prepare(
            "UPDATE \"database\" SET zone_horizon = max(zone_horizon, ?2) WHERE id = ?1")
        raisePastDeletionHorizon = try prepare(
            "UPDATE \"database\" SET past_deletion_horizon = max(past_deletion_horizon, ?2) WHERE id = ?1")
        updateZone = try prepare(
            """
            UPDATE zone SET position = ?5, incarnation = ?6, created = ?7, horizon = ?8, bytes = ?9, deleted = ?10,
                reason = ?11, past_position = ?12, past_deleted = ?13, past_reason = ?14, marker = ?15
            WHERE key = ?1 AND "database" = ?2 AND name = ?3 AND owner = ?4
            """)
        insertZone = try prepare(
            """
            INSERT INTO zone (key, "database", name, owner, position, incarnation, created, horizon, bytes, deleted,
                reason, past_position, past_deleted, past_reason, marker)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
            """)
        deleteZone = try prepare("DELETE FROM zone WHERE key = ?1")
        countTombstones = try prepare("UPDATE zone SET tombstones = tombstones + ?2 WHERE key = ?1")
        insertRecord = try prepare(
            "INSERT INTO record VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)")
        deleteRecord = try prepare("DELETE FROM record WHERE id = ?1")
        insertTombstone = try prepare("INSERT INTO tombstone VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        deleteTombstone = try prepare("DELETE FROM tombstone WHERE id = ?1")
        insertEntry = try prepare("INSERT INTO entry VALUES (?1, ?2, ?3)")
        updateEntry = try prepare("UPDATE entry SET id = ?2, live = ?3 WHERE number = ?1")
        deleteEntry = try prepare("DELETE FROM entry WHERE number = ?1")
        selectEntry = try prepare(
            "SELECT n.entry FROM name n CROSS JOIN entry e ON e.number = n.entry WHERE n.hash = ?1 AND e.id = ?2")
        insertName = try prepare("INSERT INTO name VALUES (?1, ?2)")
        deleteName = try prepare("DELETE FROM name WHERE hash = ?1 AND entry = ?2")
        insertLink = try prepare("INSERT OR IGNORE INTO link VALUES (?1, ?2, ?3, ?4)")
        deleteLink = try prepare("DELETE FROM link WHERE zone = ?1 AND kind = ?2 AND target = ?3 AND source = ?4")
        deleteLinks = try prepare("DELETE FROM link WHERE zone = ?1")
        insertMeta = try prepare("INSERT OR REPLACE INTO meta VALUES (?1, ?2, ?3)")
        deleteMeta = try prepare("DELETE FROM meta WHERE \"table\" = ?1 AND key = ?2")
    }
}
