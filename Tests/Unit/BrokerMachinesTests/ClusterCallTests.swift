import Streams
import Testing

@testable import Broker

/// The next step after each outcome of an attempt.
@Suite("Cluster call")
struct ClusterCallTests {
    private typealias Endpoint = RedisConfiguration.Endpoint
    private let a = RedisConfiguration.Endpoint.tcp(host: "a", port: 1)
    private let b = RedisConfiguration.Endpoint.tcp(host: "b", port: 2)
    private let ok = RedisValue.status("OK")

    private func error(_ message: String) -> RedisValue { .error(RedisFailure(message: message)) }

    private struct Case: Sendable, CustomTestStringConvertible {
        let replies: [RedisValue]
        let verdict: ClusterCall.Verdict
        let destination: ClusterCall.Destination
        let retry: ClusterCall.Retry
        var testDescription: String { "\(replies)" }
    }

    /// The longest pause that the random numbers allow, so that the results are known.
    private func longest(_ range: ClosedRange<Int>) -> Int { range.upperBound }

    @Test("refusals: what becomes of the slot map, the next node, and when it is asked")
    func refusals() {
        let later = { (word: String) in ClusterCall.Retry.never(BrokerError(.unavailable, word)) }
        let cases = [
            Case(
                replies: [error("MOVED 7 b:2")], verdict: .moved(slot: 7, b), destination: .owner, retry: .atOnce),
            Case(replies: [error("ASK 7 b:2")], verdict: .redirected, destination: .asking(b), retry: .atOnce),
            Case(
                replies: [ok, error("MOVED 7 b:2"), error("EXECABORT because of errors")],
                verdict: .moved(slot: 7, b), destination: .owner, retry: .atOnce),
            Case(
                replies: [ok, error("ASK 7 b:2"), error("EXECABORT because of errors")], verdict: .redirected,
                destination: .asking(b), retry: .atOnce),
        ]
        let paused = ["TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY"].map { word in
            Case(
                replies: [error("\(word) for now")], verdict: .outdated, destination: .owner, retry: .after(ms: 5))
        }
        for one in cases + paused {
            var call = ClusterCall()
            #expect(call.replied(one.replies, by: a) == one.verdict, "\(one.replies)")
            #expect(call.destination == one.destination, "\(one.replies)")
            #expect(call.retry(leftMs: 1_000, longest) == one.retry, "\(one.replies)")
        }
        for word in ["TRYAGAIN", "CLUSTERDOWN", "LOADING"] {
            var call = ClusterCall()
            _ = call.replied([error("\(word) for now")], by: a)
            #expect(call.retry(leftMs: 0, longest) == later(word))
        }
    }

    @Test("replies that are no redirection are the answer")
    func answers() {
        let all: [[RedisValue]] = [
            [], [ok], [error("ERR no"), ok], [error("MOVED nowhere")], [ok, error("MOVED 7 b:2")],
            [ok, error("ERR no"), error("EXECABORT because of errors")], [error("OOM no memory")],
        ]
        for replies in all {
            var call = ClusterCall()
            #expect(call.replied(replies, by: a) == .answer(replies), "\(replies)")
        }
    }

    @Test("an ASK is followed once, and the reply to ASKING is not part of the answer")
    func asking() {
        var call = ClusterCall()
        _ = call.replied([error("ASK 7 b:2")], by: a)
        var answered = call
        #expect(answered.replied([ok, .integer(1)], by: b) == .answer([.integer(1)]))
        var again = call
        #expect(again.replied([ok, error("TRYAGAIN not yet")], by: b) == .outdated && again.destination == .owner)
        var lost = call
        #expect(lost.failed(BrokerError(.unavailable, "lost")) == .outdated && lost.destination == .owner)
        // An error reply to `ASKING` is dropped: the reply to the command counts.
        #expect(call.replied([error("MOVED 7 a:1"), .integer(2)], by: b) == .answer([.integer(2)]))
    }

    @Test("a call without a reply is retried only if it was certainly not executed")
    func failures() {
        let all: [BrokerError.Code] = [
            .overloaded, .outcomeUnknown, .closed, .cancelled, .rejected, .misconfigured, .protocolViolation,
        ]
        for code in all {
            var call = ClusterCall()
            #expect(call.failed(BrokerError(code, "x")) == .fail(BrokerError(code, "x")), "\(code)")
        }
        var call = ClusterCall()
        #expect(call.failed(BrokerError(.unavailable, "no node")) == .outdated)
        #expect(call.retry(leftMs: 3, longest) == .after(ms: 3))
        #expect(call.retry(leftMs: 0, longest) == .never(BrokerError(.unavailable, "no node")))
    }

    @Test("redirections after the fifth failed attempt wait, each longer, and the slot map still learns of them")
    func redirectionsMax() {
        var call = ClusterCall()
        for attempt in 1...5 {
            let (message, verdict): (String, ClusterCall.Verdict) =
                attempt % 2 == 0 ? ("ASK 7 b:2", .redirected) : ("MOVED 7 b:2", .moved(slot: 7, b))
            // The reply to `ASKING` precedes that of an even number's successor.
            let replies = call.destination == .owner ? [error(message)] : [ok, error(message)]
            #expect(call.replied(replies, by: a) == verdict)
            #expect(call.retry(leftMs: 0, longest) == .atOnce, "\(attempt)")
        }
        for waitMs in [5, 10, 20, 40, 80, 160, 200, 200] {
            #expect(call.replied([error("MOVED 7 b:2")], by: a) == .moved(slot: 7, b))
            #expect(call.retry(leftMs: 1_000, longest) == .after(ms: waitMs))
        }
        _ = call.replied([error("ASK 7 b:2")], by: a)
        #expect(call.destination == .asking(b))
        #expect(call.retry(leftMs: 0, longest) == .never(BrokerError(.unavailable, "ASK 7 b:2")))
    }
}
