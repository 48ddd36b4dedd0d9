/// The whole policy of triggers: what is decided about each, in every situation.
enum TriggerDecision {
    /// What the decision depends on beside the kind of trigger.
    struct Circumstances: Sendable {
        var rule: SyncEngine.TriggerPolicy.Rule
        var situation: SyncEngine.Situation
        var hasPendingChanges = true
        /// How long the server still wants to be left alone, while the situation is `coolingDown`.
        var cooldown: Duration = .zero
    }

    static func decide(_ kind: SyncEngine.TriggerKind, in now: Circumstances) -> SyncEngine.Decision {
        if now.situation == .stopped { return .ignored(.stopped) }
        if now.rule == .ignore || now.rule == .note { return .ignored(.policy) }
        if now.rule == .send, !now.hasPendingChanges { return .ignored(.nothingPending) }

        switch now.situation {
        case .stopped:
            return .ignored(.stopped)
        case .idle:
            return .starts
        case .noAccount:
            // These may come because there is an account now; the others say nothing of it.
            switch kind {
            case .accountChanged, .launch, .enteredForeground: return .starts
            default: return .ignored(.noAccount)
            }
        case .coolingDown:
            // Another account was not asked to wait, and the time to try again ends the wait.
            switch kind {
            case .accountChanged, .retryDue: return .starts
            default: return .deferred(until: now.cooldown, reason: .coolingDown)
            }
        case .fetchingBeforeDatabaseStep:
            // What it is about to ask will show what this trigger is about.
            return kind == .accountChanged || now.rule == .send ? .queued : .joins
        case .fetchingAfterDatabaseStep:
            return .queued
        case .sending:
            // A send goes on until nothing is left to be sent.
            return now.rule == .send ? .joins : .queued
        }
    }
}
