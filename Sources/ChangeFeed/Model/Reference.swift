extension Record {
    /// A link from one record to another of the same zone (rule R11).
    public struct Reference: Sendable, Hashable, Codable {
        /// What the link does when its target is deleted.
        public enum Action: Int, Sendable, Hashable, Codable, CaseIterable {
            /// Nothing: the id stays and dangles.
            case none = 0
            /// The record that holds the link is deleted too.
            case deleteSelf = 1
            /// Nothing either; but the target must exist when the link is saved (rule R15).
            case validate = 2
        }

        /// The target.
        public let recordID: Record.ID
        /// What happens when the target is deleted.
        public let action: Action

        /// A link to a record.
        public init(recordID: Record.ID, action: Action = .none) {
            self.recordID = recordID
            self.action = action
        }
    }
}
