/// What a write answers, and what it changed: the latter is what subscribers are told of once it is committed.
package struct Written<Results: Sendable>: Sendable {
    package let results: Results
    package let changes: [WrittenZone]
}

/// A zone in which something was written, with the types of the records; no types where the zone itself was.
package struct WrittenZone: Sendable {
    package let zoneID: RecordZone.ID
    package var recordTypes: Set<String> = []
}
