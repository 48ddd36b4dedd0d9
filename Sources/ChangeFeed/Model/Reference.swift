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

extension Record.Reference {
    /// The reference as a store keeps it: in the form of a value of a field.
    package var encoded: [UInt8] {
        var writer = ByteWriter()
        ValueCodec.encode(.reference(self), into: &writer)
        return writer.bytes
    }

    /// The reference of bytes that ``encoded`` made. Total: others give an error (`internalError`, detail `damaged`).
    package init(encoded bytes: [UInt8]) throws(ChangeFeedError) {
        do throws(MalformedBytes) {
            self = try bytes.decode { (reader) throws(MalformedBytes) in
                guard case .reference(let reference) = try ValueCodec.decode(&reader), reader.isAtEnd else {
                    throw MalformedBytes(reason: "is no reference")
                }
                return reference
            }
        } catch {
            throw ChangeFeedError(
                .internalError, "A stored reference cannot be read: the byte string \(error.reason).", detail: .damaged)
        }
    }
}
