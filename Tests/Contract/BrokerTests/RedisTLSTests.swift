import LiveModel
import TestSupport
import Testing

@testable import Broker
import Streams

/// Identity over TLS; that everything else works over it, the contract suites show.
@Suite("Redis over TLS", .timeLimit(.minutes(1)))
struct RedisTLSTests {
    private func refusal(_ redis: TestRedis, change: @escaping (inout RedisTLS) -> Void) async throws -> String {
        let broker = try redis.broker("tls") {
            $0.commandTimeoutMs = 10_000
            var tls = $0.tls ?? RedisTLS()
            change(&tls)
            $0.tls = tls
        }
        let calling = Task { await errorCode { try await broker.ping() } }
        try await waitUntil("a connection or its refusal", within: 20) {
            broker.state.connected || !broker.state.lastConnectError.isEmpty
        }
        let reason = broker.state.lastConnectError
        await broker.close()
        _ = await calling.value
        return reason
    }

    @Test("only a server with a certificate of the authority and for the name is believed")
    func server() async throws {
        let redis = try TestRedis.withTLS.get()
        _ = try redis.command("PING")  // until it is there
        #expect(try await refusal(redis) { _ in } == "")
        #expect(try await refusal(redis) { $0.caFile = redis.directory + "/other.crt" }.contains("VERIFY_FAILED"))
        #expect(try await refusal(redis) { $0.caFile = nil }.contains("VERIFY_FAILED"))
        #expect(try await refusal(redis) { $0.caFile = redis.directory + "/missing.crt" }.contains("TLS"))
        #expect(
            try await refusal(redis) {
                $0.caFile = nil
                $0.isVerified = false
            } == "")
    }

    @Test("a certificate without the address needs the name")
    func name() async throws {
        let redis = try TestRedis(port: .tls(asksClients: false, certificate: "named"))
        try await waitUntil("a connection", within: 20) {
            try await refusal(redis) { $0.serverName = "redis.test" } == ""
        }
        #expect(try await refusal(redis) { $0.serverName = "elsewhere.test" }.contains("TLS"))
        #expect(try await refusal(redis) { _ in }.contains("TLS"))
    }

    @Test("a server that asks for it gets our certificate")
    func client() async throws {
        let redis = try TestRedis(port: .tls(asksClients: true))
        try await waitUntil("a connection with our certificate", within: 20) {
            try await refusal(redis) {
                $0.certificateFile = redis.directory + "/client.crt"
                $0.keyFile = redis.directory + "/client.key"
            } == ""
        }
        #expect(try await refusal(redis) { _ in } != "")
    }

    @Test("plain text to a TLS port, and TLS to a plain one, end with a reason")
    func mismatch() async throws {
        let redis = try TestRedis.withTLS.get()
        let plain = try redis.broker("tls") {
            $0.tls = nil
            $0.commandTimeoutMs = 300
        }
        #expect(await errorCode { try await plain.ping() } == .unavailable)
        #expect(!plain.state.lastConnectError.isEmpty)
        await plain.close()
        let node = try TestCluster.shared.get().nodes[0]
        #expect(try await refusal(node) { $0.caFile = redis.directory + "/ca.crt" }.contains("TLS"))
    }

    @Test("large values both ways, and the end of the server is the end of the tunnel")
    func traffic() async throws {
        let redis = try TestRedis(port: .tls(asksClients: false))
        let broker = try redis.broker("tls")
        let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let ids = try await broker.append([StreamAppend(stream: "s", fields: [("n", large)])])
        let entries = try await broker.newest(
            "s", before: .max, limit: 1)
        #expect(entries == [StreamEntry(id: ids[0], fields: [("n", large)])])
        redis.kill()
        try await waitUntil("the loss of the connection", within: 20) { !broker.state.connected }
        try redis.start()
        try await waitUntil("an answer after the restart", within: 20) {
            await errorCode { try await broker.ping() } == nil
        }
        #expect(broker.state.serverChanges == 1)
        await broker.close()
    }
}
