import ChangeFeed

extension StoreConformance.Check {
    /// That what is taken back leaves no trace: each kind of write, by an error and by a savepoint.
    static let undoing = Deed.all.map(thrown) + Deed.all.map(rolledBack) + [nested, goingOn, discardedPoints]

    private static func thrown(_ deed: Deed) -> Self {
        Self("undo.throw.\(deed.id)", "A write whose body throws takes back \(deed.phrase).") { trial in
            let ground = try await trial.ground()
            let before = try await trial.content()
            try await trial.writeInVain { writer in
                try deed.body(writer, ground)
                try expectChange(writer, by: deed, from: before)
            }
            try expect("looking after a body did \(deed.phrase) and threw", try await trial.content(), is: before)
            try await trial.write { writer in
                try expect("looking within the next write", try writer.content(), is: before)
                try deed.body(writer, ground)
                try expectChange(writer, by: deed, from: before)
            }
        }
    }

    private static func rolledBack(_ deed: Deed) -> Self {
        Self("undo.savepoint.\(deed.id)", "Going back to a savepoint takes back \(deed.phrase).") { trial in
            let ground = try await trial.ground()
            let before = try await trial.content()
            try await trial.write { writer in
                let point = try writer.savepoint()
                for round in 1...2 {
                    try deed.body(writer, ground)
                    try expectChange(writer, by: deed, from: before)
                    try writer.rollBack(to: point)
                    try expect("looking after going back, time \(round)", try writer.content(), is: before)
                }
            }
            try expect("looking after the write", try await trial.content(), is: before)
        }
    }

    private static func expectChange(_ writer: any StoreWriter, by deed: Deed, from before: [String]) throws {
        try expect(
            "looking within the write after \(deed.phrase)", try writer.content() != before, "something changed",
            found: "the content of before")
    }

    private static let nested = Self(
        "undo.nested", "Savepoints nest: each takes back what was done since, and what was done before it stays."
    ) { trial in
        let ground = try await trial.ground()
        var random = SeededGenerator(seed: trial.seed)
        // What ends a zone's life comes last: nothing is written under its handle afterwards.
        let endings = ["anotherLife", "deletedZone", "erasedRecords"]
        let ending = random.element(of: endings)
        let order =
            Deed.all.filter { !endings.contains($0.id) }.shuffled(using: &random)
            + Deed.all.filter { $0.id == ending }
        let last = try await trial.write { writer in
            var points: [(point: StoreSavepoint, content: [String])] = []
            for deed in order {
                points.append((try writer.savepoint(), try writer.content()))
                try deed.body(writer, ground)
            }
            for (number, point) in points.enumerated().reversed() where number % 3 != 1 {
                try writer.rollBack(to: point.point)
                let step = "going back to savepoint \(number + 1) of \(points.count)"
                try expect(step, try writer.content(), is: point.content)
                if number == points.count / 3 { break }
            }
            return try writer.content()
        }
        try expect("looking after the write", try await trial.content(), is: last)
    }

    private static let goingOn = Self(
        "undo.goingOn", "After going back to a savepoint the write goes on, and what it then does is kept."
    ) { trial in
        let ground = try await trial.ground()
        let kept = try await trial.write { writer in
            try writer.save("kept", in: ground.zone)
            let point = try writer.savepoint()
            try writer.save("a", in: ground.zone)
            try writer.save("lost", in: ground.zone, payload: .empty, VersionTraits(recordType: "Lost"))
            try writer.makeZone("lost")
            try writer.rollBack(to: point)
            try writer.save("a", in: ground.zone)
            try writer.delete("b", in: ground.zone)
            let zone = try writer.makeZone("found", in: .private("found"))
            try writer.save("found", in: zone, payload: .empty, VersionTraits(recordType: "Found"))
            return try writer.content()
        }
        try expect("looking after the write", try await trial.content(), is: kept)
    }

    private static let discardedPoints = Self(
        "undo.keys", "A handle of a zone that was taken back has no records when it is given again."
    ) { trial in
        _ = try await trial.ground()
        let lost = try await trial.write { writer in
            let point = try writer.savepoint()
            let zone = try writer.makeZone("lost")
            try writer.save("lost", in: zone)
            try writer.putLink(from: "lost", to: "a", kind: .parent, in: zone.key)
            try writer.rollBack(to: point)
            return zone.key
        }
        try await trial.write { writer in
            try expect("reading by a handle that was taken back", try writer.shownEntries(of: lost), is: [])
            let zone = try writer.makeZone("next")
            try expect("reading a new zone's records", try writer.shownEntries(of: zone.key), is: [])
            try expect("reading a new zone's links", try writer.sources(of: "a", in: zone.key), is: [])
            try expect(
                "reading a new zone's record by name", try writer.shownRecord("lost", in: zone.key), is: "nothing")
        }
    }
}
