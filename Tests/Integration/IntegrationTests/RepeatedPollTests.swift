import Foundation
import LocalServers
import ProtocolClients
import TestSupport
import Testing

/// Polls on a kept connection, which the node recognizes by their bytes (`http.repeatedRequestsMax`), and whose
/// subscription it keeps between them (`gateway.longPollKeptMs`).
@Suite(.serialized, .timeLimit(.minutes(2)))
struct RepeatedPollTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    @Test(arguments: [(512, 60_000), (512, 200), (512, 0), (0, 2_000)])
    func changesRevocationsAndExpiryArriveAsInFirstPolls(_ repeatedMax: Int, _ keptMs: Int) async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: [
                    "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)", "http.repeatedRequestsMax=\(repeatedMax)",
                    "gateway.longPollKeptMs=\(keptMs)",
                ])
            let admin = try await AdminClient(node.process)
            let client = try await PythonClients.start(
                "repeated_poll_client.py",
                [
                    "http://\(node.address.host):\(node.address.port)",
                    TestTokens.signed(uid: "ann", secret: Self.secret),
                    TestTokens.signed(
                        uid: "bob", secret: Self.secret, expiresAt: Int64(Date().timeIntervalSince1970) + 8),
                ])
            _ = try await client.line(containing: "polled")
            #expect(try await admin.post("revocations?uid=ann").status == 200)
            _ = try await client.line(containing: "refused")
            _ = try await client.line(containing: "expired")
            #expect(await client.waitForExit() == 0)
        }
    }
}
