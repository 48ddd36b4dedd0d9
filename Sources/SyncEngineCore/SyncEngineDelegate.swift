import ChangeFeed

/// Who is told what an engine finds, and gives it what it sends.
///
/// Events come one at a time, in the order of rules EO1 to EO12; the next waits until the handler has returned. A
/// handler may be slow. It must not call the engine's asynchronous functions and wait for them: they would wait for the
/// handler, and throw ``SyncEngineError/Code/reentrantCall`` instead (section 6.11). What it needs is in the context.
public protocol SyncEngineDelegate: AnyObject, Sendable {
    /// Takes an event.
    ///
    /// To return is to acknowledge: what the event covers becomes part of the state, and does not come again. To throw
    /// is not to: a page comes again at the next fetch, what was sent stays pending, an account change keeps the gate
    /// closed.
    func handleEvent(_ event: SyncEngine.Event, context: SyncEngine.EventContext) async throws

    /// The next changes to be sent; nil if there are none. Asked again until it is nil.
    func nextRecordZoneChangeBatch(
        _ context: SyncEngine.SendChangesContext
    ) async -> SyncEngine.RecordZoneChangeBatch?

    /// What a running fetch is to ask for next: asked between its requests, so that priorities and scope can change
    /// (rule EO11).
    func nextFetchChangesOptions(
        _ context: SyncEngine.FetchChangesContext
    ) async -> SyncEngine.FetchChangesOptions
}

extension SyncEngineDelegate {
    /// The options that the fetch was started with.
    public func nextFetchChangesOptions(
        _ context: SyncEngine.FetchChangesContext
    ) async -> SyncEngine.FetchChangesOptions {
        context.options
    }
}
