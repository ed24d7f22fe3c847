import CBroadcaster
import HTTPServer
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Measures the cost of sending one result to every session: this server against a bare C broadcaster, both read by the
/// same C client, alternating in the same run so that other load on the machine affects both.
///
/// A round is one result to all sessions; the next begins when the client has received all of it. Server CPU is the
/// user and system time of the server's process only.
package enum FanoutBenchmark {
    package struct Row: Sendable {
        package let name: String
        package let cpuSecondsPerMillion: Double
        package let deliveriesPerSecond: Double
        /// Growth of the resident set per idle subscribed connection; nil if not measured.
        package var idleKiBPerConnection: Double?
    }

    /// The ways of sending that are compared.
    package enum Mode: String, CaseIterable, Sendable {
        case bareC = "bare C send()"
        case sharedFrame = "one frame for all, send(2)"
        case enveloped = "own envelope each, send(2)"
        case channelWrite = "own envelope each, channel.write"
        case gathered = "own envelope each, 4 results gathered"
    }

    /// Runs every mode `passes` times in turn and prints the fastest pass of each. Call from `main` before anything
    /// starts threads, because it forks.
    /// - Returns: the printed rows, `bareC` first.
    @discardableResult
    package static func run(
        sessions: Int = 5000, payloadBytes: Int = 1024, rounds: Int = 60, passes: Int = 3, eventLoops: Int = 1
    ) async throws -> [Row] {
        _ = cb_raise_descriptor_limit()
        let envelope = Envelope(payloadBytes: payloadBytes)
        var client = cb_process()
        var server = cb_process()
        var barePort: UInt16 = 0
        let frame = envelope.wholeFrame
        try check(cb_client_fork(&client, "/fanout", "subscribe"), "client")
        try check(cb_server_fork(&server, frame, frame.count, &barePort), "bare server")
        defer {
            cb_stop(&client)
            cb_stop(&server)
        }
        let plan = Plan(
            client: client, sessions: sessions, rounds: rounds, eventLoops: eventLoops, envelope: envelope)
        var best: [Mode: Row] = [:]
        // Later passes reuse memory that the first one freed, so only the first shows the memory of a connection.
        var idleKiB = 0.0
        for _ in 0..<passes {
            for mode in Mode.allCases {
                let row =
                    mode == .bareC
                    ? try plan.runBare(server, port: barePort) : try await plan.runServer(mode: mode)
                idleKiB = max(idleKiB, row.idleKiBPerConnection ?? 0)
                if let known = best[mode], known.cpuSecondsPerMillion <= row.cpuSecondsPerMillion { continue }
                best[mode] = row
            }
        }
        var rows = Mode.allCases.compactMap { best[$0] }
        print(table(rows, plan))
        print("resident memory per idle subscribed connection: \(fixed(idleKiB)) KiB")
        for index in rows.indices where rows[index].idleKiBPerConnection != nil {
            rows[index].idleKiBPerConnection = idleKiB
        }
        return rows
    }

    private static func table(_ rows: [Row], _ plan: Plan) -> String {
        let title =
            "\(plan.sessions) sessions, \(plan.envelope.wholeFrame.count)-byte frames, \(plan.rounds) rounds"
        return Text.table(
            [[title, "CPU s per million", "x bare C", "deliveries"]]
                + rows.map { row in
                    [
                        row.name, fixed(row.cpuSecondsPerMillion),
                        fixed(row.cpuSecondsPerMillion / rows[0].cpuSecondsPerMillion),
                        Text.rate(row.deliveriesPerSecond),
                    ]
                })
    }

    private static func fixed(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}

package struct FanoutFailure: Error, CustomStringConvertible {
    package let description: String
}

func check(_ result: CInt, _ what: String) throws {
    if result != 0 { throw FanoutFailure(description: "\(what) failed") }
}

/// A result in the envelope of graphql-transport-ws; the payload is shared, the rest belongs to one subscription.
struct Envelope: Sendable {
    let prefix = Array(#"{"id":"1","type":"next","payload":"#.utf8)
    let suffix = Array("}".utf8)
    let payload: ByteBuffer

    init(payloadBytes: Int) {
        payload = ByteBuffer(repeating: UInt8(ascii: "7"), count: payloadBytes)
    }

    var text: ByteBuffer {
        ByteBuffer(bytes: prefix + Array(payload.readableBytesView) + suffix)
    }

    /// The bytes that this server sends, for the bare one.
    var wholeFrame: [UInt8] {
        let text = Array(text.readableBytesView)
        return text.count < 126
            ? [0x81, UInt8(text.count)] + text
            : text.count <= 0xFFFF
                ? [0x81, 126, UInt8(text.count >> 8), UInt8(text.count & 0xFF)] + text
                : [0x81, 127] + (0..<8).map { UInt8(truncatingIfNeeded: text.count >> (56 - 8 * $0)) } + text
    }
}
