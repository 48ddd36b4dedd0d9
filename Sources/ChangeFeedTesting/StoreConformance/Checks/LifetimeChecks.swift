import ChangeFeed

extension StoreConformance.Check {
    /// What a store keeps when it is closed and opened again.
    static let reopening = [
        Self(
            "reopening.keeps", "A store that is opened again has everything that it had, its identity included.",
            needs: .reopening
        ) {
            trial in
            let ground = try await trial.ground()
            try await trial.saveSpecimens(in: ground.zone)
            let before = try await trial.content()
            let identity = try await trial.read { $0.storeID }
            var current = trial
            for time in 1...2 {
                current = try await current.reopened()
                try expect("looking after opening, time \(time)", try await current.content(), is: before)
                try expect("reading the identity", try await current.read { $0.storeID }, is: identity)
            }
        },
        Self(
            "reopening.goesOn",
            "A store that is opened again goes on: with greater positions, and with every kind of write.",
            needs: .reopening
        ) {
            trial in
            let ground = try await trial.ground()
            let (head, keys) = try await trial.write { writer in
                (try writer.allocatePosition(), [ground.zone.key, ground.other.key, ground.gone.key])
            }
            var current = try await trial.reopened()
            let (next, key) = try await current.write { (try $0.allocatePosition(), try $0.allocateZoneKey()) }
            try expect("allocating", next > head, "after \(Shown.position(head))", found: Shown.position(next))
            try expect("asking for a handle", !keys.contains(key), "a new one", found: "\(key.rawValue)")
            for deed in Deed.all where !["erasedRecords", "deletedZone", "anotherLife"].contains(deed.id) {
                let before = try await current.content()
                let within = try await current.write { writer in
                    try deed.body(writer, ground)
                    return try writer.content()
                }
                try expect("doing \(deed.phrase)", within != before, "a change", found: "none")
                current = try await current.reopened()
                try expect("looking after \(deed.phrase)", try await current.content(), is: within)
            }
        },
        Self(
            "reopening.nothingLeft", "What a write that threw had done is not there after opening either.",
            needs: .reopening
        ) {
            trial in
            let ground = try await trial.ground()
            let before = try await trial.content()
            try await trial.writeInVain { writer in
                try writer.save("a", in: ground.zone)
                try writer.makeZone("lost")
                try writer.setMetaValue([9], for: "lost", of: .usage)
            }
            let reopened = try await trial.reopened()
            try expect("looking after opening", try await reopened.content(), is: before)
        },
    ]

    /// What a store that can be put back promises beside.
    static let snapshots = [
        Self(
            "snapshots.restore", "Restoring puts the content back to what it was, any number of times.",
            needs: .snapshots
        ) {
            trial in
            guard let store = trial.store as? any SnapshottingStore else { return }
            let ground = try await trial.ground()
            let before = try await trial.content()
            let snapshot = try await store.snapshot()
            for time in 1...2 {
                try await trial.write { writer in
                    for deed in Deed.all where !["erasedRecords", "deletedZone"].contains(deed.id) {
                        if deed.id != "anotherLife" { try deed.body(writer, ground) }
                    }
                    try writer.makeZone("zone")
                }
                try expect("writing", try await trial.content() != before, "a change", found: "none")
                try await store.restore(snapshot)
                try expect("looking after restoring, time \(time)", try await trial.content(), is: before)
            }
        },
        Self(
            "snapshots.foreign", "The snapshot of another kind of store is refused as an invalid argument.",
            needs: .snapshots
        ) {
            trial in
            guard let store = trial.store as? any SnapshottingStore else { return }
            _ = try await trial.ground()
            let before = try await trial.content()
            do {
                try await store.restore(ForeignSnapshot())
                throw Mismatch("restoring a foreign snapshot", expected: "an error", found: "none")
            } catch let error as ChangeFeedError {
                try expect("restoring a foreign snapshot", error.code, is: .invalidArguments)
            }
            try expect("looking afterwards", try await trial.content(), is: before)
        },
        Self("snapshots.apart", "A snapshot does not change with the store that it was taken of.", needs: .snapshots) {
            trial in
            guard let store = trial.store as? any SnapshottingStore else { return }
            let ground = try await trial.ground()
            let first = (try await store.snapshot(), try await trial.content())
            try await trial.saveSpecimens(in: ground.zone)
            let second = (try await store.snapshot(), try await trial.content())
            try await store.restore(first.0)
            try expect("looking at the first", try await trial.content(), is: first.1)
            try await trial.write { try $0.makeZone("between") }
            try await store.restore(second.0)
            try expect("looking at the second", try await trial.content(), is: second.1)
        },
    ]
}

private struct ForeignSnapshot: StoreSnapshot {}

extension Trial {
    fileprivate func saveSpecimens(in row: ZoneRow) async throws {
        let payloads = payloads
        try await write { writer in
            for (index, name) in Specimen.names.enumerated() {
                try writer.save(
                    "specimen \(name)", in: row, payload: payloads[index],
                    VersionTraits(encryptedPayload: payloads[index + 1]))
                try writer.putLink(from: "specimen \(name)", to: "root", kind: .parent, in: row.key)
                try writer.setMetaValue([UInt8(index)], for: name, of: .orphanedAssets)
            }
        }
    }
}
