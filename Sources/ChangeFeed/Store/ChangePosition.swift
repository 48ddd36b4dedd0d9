/// A place in a store's history.
///
/// Positions are handed out by the store, strictly increasing, one for each written item, and never used again
/// (rule 6.1.1). Above the store they are opaque: compared, kept and encoded, never computed with (rule 6.1.7).
/// A store with a single counter leaves `high` at zero; one that orders by transaction and item uses both halves.
public struct ChangePosition: Sendable, Hashable, Comparable {
    /// The half that is compared first.
    public let high: UInt64
    /// The half that is compared second.
    public let low: UInt64

    /// A position from its two halves.
    public init(high: UInt64 = 0, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Before every position that a store hands out.
    public static let beginning = ChangePosition(low: 0)

    /// Whether the left position is the earlier one.
    public static func < (left: ChangePosition, right: ChangePosition) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}

/// A stretch of a store's life during which its positions are sure to mean what they meant (rule 6.1.5).
///
/// The first write after an open, a restore or an import begins a new epoch; an epoch ends where the next begins.
/// Tokens and change tags carry the nonce, so that a store put back to an earlier state cannot pass off new
/// positions for the old ones of the same number.
public struct Epoch: Sendable, Hashable {
    /// A random number that names the epoch.
    public let nonce: UInt64
    /// The first position that belongs to the epoch.
    public let firstPosition: ChangePosition

    /// An epoch that begins at a position.
    public init(nonce: UInt64, firstPosition: ChangePosition) {
        self.nonce = nonce
        self.firstPosition = firstPosition
    }
}
