/// A hint as part of a push payload: dictionaries, strings and numbers, which property lists and JSON both have.
///
/// ```swift
/// var push: [String: any Sendable] = ["aps": ["content-available": 1]]
/// push.merge(notification.payload) { $1 }
/// // ... and at the other end, with the dictionary that the system hands over:
/// let notification = try ChangeNotification(payload: userInfo)
/// ```
extension ChangeNotification {
    /// The one key of a push payload under which a hint lies.
    public static let payloadKey = "cf"

    private static let payloadVersion = 1

    /// The hint under ``payloadKey``.
    public var payload: [String: any Sendable] {
        var fields: [String: any Sendable] = [
            "v": ChangeNotification.payloadVersion,
            "nid": notificationID,
            "sid": subscriptionID,
            "scope": databaseScope.rawValue,
            "kind": kind.rawValue,
        ]
        // Numbers, because a Boolean does not keep its type in every property list.
        if isPruned { fields["pruned"] = 1 }
        if let zoneID {
            fields["zone"] = zoneID.zoneName
            fields["owner"] = zoneID.ownerName
        }
        return [ChangeNotification.payloadKey: fields]
    }

    /// The hint of a push payload; other keys are passed over. Total: throws `invalidArguments` with the detail
    /// `damaged` for a payload that has none, or one that no version known here has made.
    public init(payload: [AnyHashable: Any]) throws(ChangeFeedError) {
        guard let value = payload[ChangeNotification.payloadKey] else {
            throw damagedPayload("it has no key \"\(ChangeNotification.payloadKey)\"")
        }
        guard let fields = value as? [String: Any] else { throw damagedPayload("it is not a dictionary") }
        guard try number("v", of: fields) == ChangeNotification.payloadVersion else {
            throw damagedPayload("its version is unknown")
        }
        guard let scope = DatabaseScope(rawValue: try number("scope", of: fields)) else {
            throw damagedPayload("its database is unknown")
        }
        guard let kind = Kind(rawValue: try number("kind", of: fields)) else {
            throw damagedPayload("its kind is unknown")
        }
        let pruned = fields["pruned"] == nil ? 0 : try number("pruned", of: fields)
        guard pruned == 0 || pruned == 1 else { throw damagedPayload("its \"pruned\" is neither 0 nor 1") }
        var zoneID: RecordZone.ID?
        if fields["zone"] != nil || fields["owner"] != nil {
            zoneID = RecordZone.ID(
                zoneName: try string("zone", of: fields), ownerName: try string("owner", of: fields))
        }
        self.init(
            notificationID: try string("nid", of: fields),
            subscriptionID: try string("sid", of: fields),
            databaseScope: scope,
            zoneID: zoneID,
            kind: kind,
            isPruned: pruned == 1
        )
    }
}

private func damagedPayload(_ fault: String) -> ChangeFeedError {
    ChangeFeedError(
        .invalidArguments, "The payload carries no change notification: \(fault). Treat the push as a hint to fetch.",
        rule: "SB3", detail: .damaged)
}

private func string(_ key: String, of fields: [String: Any]) throws(ChangeFeedError) -> String {
    guard let string = fields[key] as? String else { throw damagedPayload("its \"\(key)\" is not a string") }
    return string
}

private func number(_ key: String, of fields: [String: Any]) throws(ChangeFeedError) -> Int {
    if let number = fields[key] as? Int { return number }
    // Coders differ in the integer type that they give.
    if let integer = fields[key] as? any BinaryInteger, let number = Int(exactly: integer) { return number }
    throw damagedPayload("its \"\(key)\" is not a whole number")
}
