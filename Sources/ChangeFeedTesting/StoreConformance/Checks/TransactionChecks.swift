import ChangeFeed

extension StoreConformance.Check {
    /// What holds of every transaction.
    static let transactions = [empty, identity, visible, once, onceThrowing, readErrors, nothingLeft, results]

    private static let empty = Self("transactions.empty", "A new store has nothing in it, and says so.") { trial in
        try await trial.read { reader in
            try expect("reading the head", try reader.head, is: .beginning)
            try expect("reading the epochs", try reader.epochs, is: [])
            try expect("reading the databases", try reader.databaseIDs, is: [])
            try expect("reading the content", try reader.content(), is: ["head @0"])
            try expect("reading a database's head", try reader.head(of: .specimen), is: .beginning)
            try expect("reading a database's horizons", try reader.horizons(of: .specimen), is: DatabaseHorizons())
            try expect("reading a zone", try reader.shownZone(.default), is: "nothing")
            try expect("reading a small thing", try reader.metaValue("", of: .schema), is: nil)
        }
    }

    private static let identity = Self(
        "transactions.identity", "A store has one identity in all transactions, and another store another."
    ) { trial in
        let identity = try await trial.read { $0.storeID }
        let inWrite = try await trial.write { $0.storeID }
        try expect("reading the identity within a write", inWrite, is: identity)
        let other = try await trial.with(trial.makeStore()).read { $0.storeID }
        try expect("making another store", other != identity, "another identity", found: "the same")
    }

    private static let visible = Self(
        "transactions.visible", "A write sees what it did, and so does every transaction after it has returned."
    ) { trial in
        let ground = try await trial.ground()
        for deed in Deed.all.filter({ $0.id != "erasedRecords" && $0.id != "deletedZone" && $0.id != "anotherLife" }) {
            let before = try await trial.content()
            let within = try await trial.write { writer in
                try deed.body(writer, ground)
                return try writer.content()
            }
            try expect("doing \(deed.phrase)", within != before, "a change", found: "none")
            try expect("reading after \(deed.phrase)", try await trial.content(), is: within)
            try expect("a write after \(deed.phrase)", try await trial.write { try $0.content() }, is: within)
        }
    }

    private static let once = Self("transactions.once", "A body runs exactly once.") { trial in
        let runs = Counter()
        try await trial.write { writer in
            runs.add()
            _ = try writer.allocatePosition()
        }
        try expect("counting the runs of a write's body", runs.value, is: 1)
        try await trial.read { _ in runs.add() }
        try expect("counting the runs of a read's body", runs.value, is: 2)
    }

    private static let onceThrowing = Self("transactions.onceThrowing", "A body that throws is not run again.") {
        trial in
        let runs = Counter()
        try await trial.writeInVain { _ in runs.add() }
        try expect("counting the runs of a write's body that throws", runs.value, is: 1)
    }

    private static let readErrors = Self(
        "transactions.readErrors", "The error of a read's body is handed on as it is, and the store goes on."
    ) { trial in
        _ = try await trial.ground()
        do {
            try await trial.store.read { _ throws(ChangeFeedError) -> Void in throw .onPurpose }
            throw Mismatch("a read whose body throws", expected: "the body's error", found: "a result")
        } catch let error as ChangeFeedError {
            try expect("a read whose body throws", "\(error)", is: "\(ChangeFeedError.onPurpose)")
        }
        let content = try await trial.content()
        try expect("reading afterwards", content.count > 1, "the content", found: "nothing")
    }

    private static let nothingLeft = Self(
        "transactions.nothingLeft", "A write that does many things of all kinds and throws leaves nothing behind."
    ) { trial in
        let ground = try await trial.ground()
        let before = try await trial.content()
        let ending = Deed.all.first { $0.id == "anotherLife" }
        for _ in 1...2 {
            try await trial.writeInVain { writer in
                let rest = Deed.all.filter { !["erasedRecords", "deletedZone", "anotherLife"].contains($0.id) }
                for deed in rest { try deed.body(writer, ground) }
                try ending?.body(writer, ground)
            }
            try expect("looking after the write", try await trial.content(), is: before)
        }
    }

    private static let results = Self("transactions.results", "What a body returns is what the caller gets.") { trial in
        try expect("the result of a read", try await trial.read { _ in ["a", "b"] }, is: ["a", "b"])
        try expect("the result of a write", try await trial.write { _ in Int?.none }, is: nil)
    }
}
