/// Behaviour of CloudKit's that the feed leaves out unless it is asked for.
public struct Compatibility: Sendable, Hashable {
    /// Whether saving a child gives the record named by its `parent` a new tag too, unless that is saved by the same
    /// request (rule R9; section 6.5, "parent touch").
    public var touchesParents: Bool
    /// Whether a first read of a database also tells of zones that were deleted before it (rule FD7; section 6.4).
    public var firstReadReportsDeletedZones: Bool

    /// A choice of behaviour; by default none of it.
    public init(touchesParents: Bool = false, firstReadReportsDeletedZones: Bool = false) {
        self.touchesParents = touchesParents
        self.firstReadReportsDeletedZones = firstReadReportsDeletedZones
    }
}
