import JSON
import LiveModel
import Sessions

/// Which reports of a stream are sent: those that say something else than the one sent last. Pure.
///
/// A report that differs in ages only, such as `upMs`, is sent after a pause, so that the reader's are not much older.
struct ReportChanges: Sendable {
    /// The time after which other ages are a reason to send.
    static let agesMs: Int64 = 15_000
    /// Members whose values grow or shrink with time alone, besides those that end in `AgoMs`. An age that is missing
    /// here costs reports, and hides none.
    static let ages: Set<String> = [
        "upMs", "sinceMs", "expiresInMs", "tokenExpiresInMs", "leaseRemainingMs", "countedForMs", "keptForMs",
        "keptForMsMax", "ownedForMs", "runningForMs", "silentMs",
    ]

    /// An event of the stream, with its data as JSON.
    struct Event: Sendable, Hashable {
        /// `report`, or `error` with the error form of the API.
        let name: String
        let data: [UInt8]
    }

    private struct Sent {
        let content: Digest
        let whole: Digest
        let atMs: Int64
    }

    private var sent: Sent?

    /// Decides whether a report, or why there is none, is sent.
    /// - Returns: nil if the reader has it.
    mutating func event(of result: Result<JSONValue, RequestError>, nowMs: Int64) -> Event? {
        let event: Event
        let content: Digest
        switch result {
        case .success(let report):
            event = Event(name: "report", data: report.compactBytes)
            content = Digest(of: Self.withoutAges(report).compactBytes)
        case .failure(let error):
            event = Event(name: "error", data: ResultEnvelope.errors([error]))
            content = Digest(of: event.data)
        }
        if let sent, sent.content == content, nowMs - sent.atMs < Self.agesMs { return nil }
        let whole = Digest(of: event.data)
        if let sent, sent.whole == whole { return nil }
        sent = Sent(content: content, whole: whole, atMs: nowMs)
        return event
    }

    private static func withoutAges(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(withoutAges))
        case .object(let object):
            let lasting = object.entries.filter { !ages.contains($0.key) && !$0.key.hasSuffix("AgoMs") }
            return .object(JSONObject(lasting.map { ($0.key, withoutAges($0.value)) }))
        default: return value
        }
    }
}
