import ChangeFeed

extension StoreConformance.Check {
    /// Positions and epochs.
    static let positions = [increasing, afterBeginning, headWithinWrite, takenBack, epochRows, epochStart]

    private static let increasing = Self(
        "positions.increasing", "Positions are strictly increasing, within a write and from one write to the next."
    ) { trial in
        var last = ChangePosition.beginning
        for number in 1...20 {
            let positions = try await trial.write { writer in
                try (0..<number).map { _ in try writer.allocatePosition() }
            }
            for position in positions {
                try expect(
                    "allocating in write \(number)", last < position, "a position after \(Shown.position(last))",
                    found: Shown.position(position))
                last = position
            }
        }
    }

    private static let afterBeginning = Self("positions.beginning", "Every position is after the beginning.") { trial in
        let first = try await trial.write { try $0.allocatePosition() }
        try expect(
            "allocating for the first time", first > .beginning, "a position after the beginning",
            found: Shown.position(first))
    }

    private static let headWithinWrite = Self(
        "positions.head", "The head is the last position that was allocated, within the write too."
    ) { trial in
        for _ in 1...3 {
            let last = try await trial.write { writer in
                let before = try writer.head
                var last = before
                for _ in 1...3 {
                    last = try writer.allocatePosition()
                    try expect("reading the head within the write", try writer.head, is: last)
                }
                try expect("allocating", last > before, "a position after the head", found: Shown.position(last))
                return last
            }
            try expect("reading the head afterwards", try await trial.read { try $0.head }, is: last)
        }
    }

    private static let takenBack = Self(
        "positions.takenBack", "Positions of a write that throws were never allocated: the head is what it was before."
    ) { trial in
        let head = try await trial.write { try $0.allocatePosition() }
        try await trial.writeInVain { writer in for _ in 1...5 { _ = try writer.allocatePosition() } }
        try expect("reading the head", try await trial.read { try $0.head }, is: head)
        let next = try await trial.write { try $0.allocatePosition() }
        try expect("allocating", next > head, "a position after \(Shown.position(head))", found: Shown.position(next))
    }

    private static let epochRows = Self(
        "epochs.order", "Epochs are kept with their nonces, oldest first, in transactions of any kind."
    ) { trial in
        let nonces: [UInt64] = [5, .max, 0, 1 << 63, 5]
        for (index, nonce) in nonces.enumerated() {
            try await trial.write { writer in
                try writer.beginEpoch(nonce: nonce)
                try expect("reading within the write", try writer.epochs.map(\.nonce), is: Array(nonces[...index]))
                _ = try writer.allocatePosition()
            }
            let found = try await trial.read { try $0.epochs.map(\.nonce) }
            try expect("reading afterwards", found, is: Array(nonces[...index]))
        }
    }

    private static let epochStart = Self("epochs.start", "An epoch begins with the next position that is allocated.") {
        trial in
        for number in 1...3 {
            let start = try await trial.write { writer in
                _ = try writer.allocatePosition()
                try writer.beginEpoch(nonce: UInt64(number))
                let start = try writer.allocatePosition()
                _ = try writer.allocatePosition()
                return start
            }
            let last = try await trial.read { try $0.epochs.last }
            try expect("reading the latest epoch", last, is: Epoch(nonce: UInt64(number), firstPosition: start))
        }
    }
}
