import ChangeFeed

/// Whose state it is, and whether anything may be sent or fetched (section 6.9a).
///
/// The gate closes at once when an account change is signalled. It opens when the account has been looked up and the
/// app has taken note of any change. Nothing of one account is ever sent under another.
struct AccountGate: Sendable {
    enum State: Sendable, Equatable {
        /// The account has not been looked up since the engine was made, or since a change was signalled.
        /// Can become each of the others.
        case unknown
        /// The app is being told of a change. Can become `open` or `shut`; `unknown` if the handler threw.
        case telling(SyncEngine.AccountChange)
        /// Can become `unknown`.
        case open
        /// There is nobody who could act. Can become each of the others.
        case shut
    }

    private(set) var state = State.unknown

    /// What follows from looking the account up.
    enum Finding: Sendable {
        /// The user is the one whose state it is.
        case open
        /// Nobody can act.
        case shut
        /// The app has to be told first; then these steps.
        case tell(SyncEngine.AccountChange, then: [StateChange])
    }

    /// Whether somebody else can act than the user whose state it is. An account that cannot be used just now is no other.
    static func isAnother(_ account: Account, than known: String?) -> Bool {
        switch (account, known) {
        case (.available(let userID), let known?): !sameBytes(userID, known)
        case (.available, nil), (.none, _?): true
        case (.none, nil), (.restricted, _), (.temporarilyUnavailable, _): false
        }
    }

    /// A change was signalled.
    mutating func signalled() { state = .unknown }

    mutating func found(_ account: Account, _ basis: inout Basis) -> Finding {
        basis.note(.account(account.summary))
        switch (account, basis.log.state.account) {
        case (.available(let userID), let known?) where sameBytes(userID, known):
            // The app was about to be told that the user is gone, and he is back.
            if basis.log.state.isParked(userID) { basis.record([.accountRestored(userID)]) }
            state = .open
            return .open
        case (.available(let userID), nil):
            var steps: [StateChange] = []
            if basis.log.state.isParked(userID) { steps.append(.accountRestored(userID)) }
            return tell(.signIn(currentUser: userID), then: steps + [.account(userID)])
        case (.available(let userID), let known?):
            let unsent = park(known, &basis)
            var steps: [StateChange] = []
            if basis.log.state.isParked(userID) { steps.append(.accountRestored(userID)) }
            return tell(
                .switchAccounts(previousUser: known, currentUser: userID, unsentChanges: unsent),
                then: steps + [.account(userID)])
        case (.none, let known?):
            let unsent = park(known, &basis)
            return tell(.signOut(previousUser: known, unsentChanges: unsent), then: [.account(nil)])
        case (.none, nil), (.restricted, _), (.temporarilyUnavailable, _):
            // An account that cannot be used just now is no other account.
            state = .shut
            return .shut
        }
    }

    /// Sets the state of a user aside before the app is told, so that what the app adds while it is told is not his.
    private func park(_ userID: String, _ basis: inout Basis) -> SyncEngine.UnsentChanges {
        if !basis.log.state.isParked(userID) { basis.record([.accountParked]) }
        return basis.log.state.unsentChanges(ofParked: userID)
    }

    private mutating func tell(_ change: SyncEngine.AccountChange, then steps: [StateChange]) -> Finding {
        state = .telling(change)
        return .tell(change, then: steps)
    }

    /// The handler that was told of a change has returned, or thrown.
    mutating func told(_ handled: Handled) {
        guard case .telling(let change) = state else { return }
        if handled.failure != nil {
            state = .unknown
        } else if case .signOut = change {
            state = .shut
        } else {
            state = .open
        }
    }
}

extension DurableState {
    func isParked(_ userID: String) -> Bool { parkedSessions[ByteString(userID)] != nil }

    func unsentChanges(ofParked userID: String) -> SyncEngine.UnsentChanges {
        let session = parkedSessions[ByteString(userID)] ?? Session()
        return SyncEngine.UnsentChanges(
            recordZoneChanges: session.records.all.compactMap(\.unsentChange),
            databaseChanges: session.zones.all.compactMap(\.unsentChange))
    }
}

extension Outbox<RecordZone.ID>.Entry {
    var unsentChange: SyncEngine.PendingDatabaseChange? {
        unsent.map { $0.intent == .save ? .saveZone(RecordZone(zoneID: id)) : .deleteZone(id) }
    }
}

extension Account {
    fileprivate var summary: String {
        switch self {
        case .available(let userID): "available: \(userID)"
        case .none: "nobody"
        case .restricted: "restricted"
        case .temporarilyUnavailable: "temporarily unavailable"
        }
    }
}
