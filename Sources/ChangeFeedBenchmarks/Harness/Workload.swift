import ChangeFeed

/// Something that is measured. To add one, write a file with one and name it in ``Main``.
protocol Workload: Sendable {
    /// The ids of the figures that it gives, in order.
    var ids: [String] { get }
    /// Measures. Figures that the session does not ask for may be left out, and are not shown.
    func run(in session: Session) async throws -> [Figure]
}

/// What one run of a workload is asked for.
struct Session: Sendable {
    /// The figures that are wanted.
    let ids: Set<String>
    /// Whether fewer rounds will do. The amounts stay as they are.
    let isQuick: Bool

    func wants(_ id: String) -> Bool {
        ids.contains(id)
    }

    /// How many rounds to measure.
    func rounds(_ count: Int, quick: Int) -> Int {
        isQuick ? quick : count
    }

    /// Tells whoever watches the standard error what is being done.
    func report(_ text: String) {
        complain(text + "\n")
    }
}
