/// Whether a device has a user, and who that is.
public enum Account: Sendable, Codable {
    /// A user is signed in.
    case available(userID: String)
    /// Nobody is signed in.
    case none
    /// A policy forbids it.
    case restricted
    /// There is a user, but not right now.
    case temporarilyUnavailable

    /// The user who is signed in and can act; nil in every other state.
    public var userID: String? {
        if case .available(let userID) = self { userID } else { nil }
    }

    /// The user who can act, or the error that says why there is none (codes 9, 10 and 36 of section 1.12).
    func user() throws(ChangeFeedError) -> String {
        switch self {
        case .available(let userID):
            return userID
        case .none:
            throw ChangeFeedError(
                .notAuthenticated, "Nobody is signed in on the device: sign in, then ask again.", rule: "6.9a")
        case .restricted:
            throw ChangeFeedError(
                .permissionFailure, "A policy keeps the device from using its account.", rule: "6.9a")
        case .temporarilyUnavailable:
            throw ChangeFeedError(
                .accountTemporarilyUnavailable,
                "The account is not ready: keep what you have, wait until the account changes, then ask again.",
                rule: "E4")
        }
    }
}

extension Account: Hashable {
    /// Whether both are the same state and, where there is one, the same user: user ids are compared by their bytes.
    public static func == (left: Account, right: Account) -> Bool {
        switch (left, right) {
        case (.available(let left), .available(let right)): sameBytes(left, right)
        case (.none, .none), (.restricted, .restricted), (.temporarilyUnavailable, .temporarilyUnavailable): true
        case (.available, _), (.none, _), (.restricted, _), (.temporarilyUnavailable, _): false
        }
    }

    /// Hashes the user; the other states need no telling apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(userID)
    }
}
