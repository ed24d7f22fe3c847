import Glibc
import Synchronization

/// The text of a SQL statement with its hash, which makes looking up a connection's prepared statements cheap.
///
/// Parameters are `$1`, `$2`, …; give each an explicit cast (`$1::uuid`), because their types are sent as unknown. Keep
/// and reuse a `Statement` on hot paths: one made from the same text is equal, but hashes the text again.
package struct Statement: Hashable, Sendable, ExpressibleByStringLiteral {
    private let text: Text

    package init(_ sql: String) {
        text = Text(sql)
    }

    package init(stringLiteral sql: String) {
        self.init(sql)
    }

    package var sql: String { text.sql }

    /// Whether recent executions were slow, and not enough fast ones came after them. Shared by copies, not by other
    /// statements of the same text.
    var isSlow: Bool { text.fastRunsWanted.load(ordering: .relaxed) > 0 }

    /// Records a slow execution. The first may be due to a busy server; a second within `slowWindowMs` counts.
    func wasSlow(nowMs: Int) {
        let lastMs = text.lastSlowMs.exchange(nowMs, ordering: .relaxed)
        if lastMs != 0, nowMs - lastMs <= Self.slowWindowMs { isSlowAgain() }
    }

    /// Records a slow execution that leaves no doubt, such as one on a connection for slow statements.
    func isSlowAgain() {
        if !isSlow {
            // One that alternates is believed ever later.
            let former = text.fastRunsMin.load(ordering: .relaxed)
            text.fastRunsMin.store(
                former == 0 ? Self.fastRunsFirst : min(2 * former, Self.fastRunsMax), ordering: .relaxed)
        }
        text.fastRunsWanted.store(text.fastRunsMin.load(ordering: .relaxed), ordering: .relaxed)
    }

    func wasFast() {
        // A lost update only costs one more run.
        let wanted = text.fastRunsWanted.load(ordering: .relaxed)
        if wanted > 0 { text.fastRunsWanted.store(wanted - 1, ordering: .relaxed) }
    }

    /// The average time of recent executions; nil: not measured, or in doubt. Shared like `isSlow`.
    var average: StatementPace.Average? {
        StatementPace.Average(encoded: text.average.load(ordering: .relaxed))
    }

    /// The average time of recent executions in microseconds, without the round trip; nil: not measured, or in doubt.
    package var averageUs: Int? { average?.us }

    /// Whether recent executions were short enough for a shared pipeline; false if that is unknown.
    package var isKnownShort: Bool { !isSlow && average?.isShort == true }

    /// Records the time of an execution that nothing else delayed.
    func took(us: Int, _ pace: StatementPace) {
        // A lost update only costs one more run.
        text.average.store(pace.average(average, adding: us).encoded, ordering: .relaxed)
    }

    /// Forgets the average, so that the next executions are measured again.
    func doubt() { text.average.store(0, ordering: .relaxed) }

    private static let slowWindowMs = 60_000
    /// The number of fast executions after which a slow statement counts as fast again: the first time, and at most. It
    /// doubles each time that the statement becomes slow.
    private static let fastRunsFirst = 8
    private static let fastRunsMax = 256

    /// A C string ends at the first NUL, so a text that contains one would be truncated.
    var containsNUL: Bool { text.containsNUL }

    package static func == (left: Statement, right: Statement) -> Bool {
        left.text === right.text || (left.text.hash == right.text.hash && left.text.sql == right.text.sql)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(text.hash)
    }

    private final class Text: Sendable {
        let sql: String
        let hash: Int
        let containsNUL: Bool
        let fastRunsWanted = Atomic<Int>(0)
        /// The fast executions that a slow statement needs to count as fast again; 0: it was never slow.
        let fastRunsMin = Atomic<Int>(0)
        /// The time of the last slow execution; 0: there was none.
        let lastSlowMs = Atomic<Int>(0)
        let average = Atomic<Int>(0)

        init(_ sql: String) {
            self.sql = sql
            var hasher = Hasher()
            hasher.combine(sql)
            hash = hasher.finalize()
            containsNUL = sql.containsNUL
        }
    }
}

extension String {
    /// Whether the text contains a NUL. Uses `memchr`, because the parameters of a batch are long.
    var containsNUL: Bool {
        var text = self
        return text.withUTF8 { bytes in
            guard let base = bytes.baseAddress else { return false }
            return memchr(base, 0, bytes.count) != nil
        }
    }
}

/// A parameter's value. Text needs no escaping; text that contains a NUL is rejected (`invalidParameter`).
package enum Parameter: Hashable, Sendable {
    case null
    /// The value in Postgres' text format, as between quotes.
    case text(String)
    /// The value in Postgres' binary format for the type that the SQL casts it to.
    case binary([UInt8])
}

extension Parameter: ExpressibleByStringLiteral, ExpressibleByNilLiteral {
    package init(stringLiteral value: String) { self = .text(value) }
    package init(nilLiteral: ()) { self = .null }

    /// A text parameter; NULL for nil.
    package init(_ value: String?) {
        self = value.map(Parameter.text) ?? .null
    }

    package init(_ value: Int) { self = .text(String(value)) }
}

/// One step of a transaction: a statement and its parameters.
package typealias PostgresStep = (statement: Statement, parameters: [Parameter])

/// Formats one-dimensional arrays as text.
package enum PostgresArray {
    /// `{"a","b\"c",NULL}`: every element is quoted, so that none can be mistaken for syntax or for NULL.
    package static func literal(_ elements: [String?]) -> String { literal(elements[...]) }

    package static func literal(_ elements: ArraySlice<String?>) -> String {
        var bytes: [UInt8] = []
        var capacity = 2
        for element in elements { capacity += (element?.utf8.count ?? 4) + 3 }
        bytes.reserveCapacity(capacity)
        bytes.append(UInt8(ascii: "{"))
        for element in elements {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            guard let element else {
                bytes.append(contentsOf: "NULL".utf8)
                continue
            }
            bytes.append(UInt8(ascii: "\""))
            var text = element
            text.withUTF8 { utf8 in
                let isPlain = utf8.allSatisfy { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
                if isPlain { return bytes.append(contentsOf: utf8) }
                for byte in utf8 {
                    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
                    bytes.append(byte)
                }
            }
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }
}
