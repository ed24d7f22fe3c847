import Foundation
import JSON
import ProtocolClients
import TestSupport
import Testing

/// The surfaces of SQL Connect against one node, by clients that send what the SDKs send.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct SQLConnectTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    @Test func restStreamAndGRPC() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: [
                    "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)", "auth.leewayMs=0",
                    "http.bodyBytesMax=1048576",
                ])
            let url = "http://\(node.address.host):\(node.address.port)"
            let token = TestTokens.signed(uid: "ann", secret: Self.secret)
            for name in ["rest", "stream", "grpc", "hostile"] {
                try await PythonClients.run("sql_connect_client.py", [name, url, token, Self.secret])
            }
            try await PythonClients.run(
                "sql_connect_client.py", ["drain", url, token, Self.secret, String(node.process.processID)])
            #expect(await node.process.waitForExit() == 0)
        }
    }

    @Test func editorsAskTheEmulatorOverGRPC() async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path + "/data"
        let node = try FreshetProcess([
            "dev", SampleProject.path, "--no-generate", "--set", "http.port=0", "--set", "admin.port=0", "--set",
            "dev.dataDirectory=\(folder)",
        ])
        let line = try await node.line(containing: "Freshet serves")
        let address = line.split(separator: " ").last?.split(separator: "/").last.map(String.init) ?? ""
        try await PythonClients.run("emulator_client.py", [address, String(node.processID)])
        #expect(await node.waitForExit() == 0)
    }

    @Test func aSessionIsLimitedInSubscriptionsAndTime() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: [
                    "gateway.subscriptionsPerSessionMax=3", "gateway.initTimeoutMs=1500",
                    "gateway.webSocketFrameBytesMax=262144",
                ])
            let url = "http://\(node.address.host):\(node.address.port)"
            try await PythonClients.run("sql_connect_client.py", ["limits", url, "", ""])
        }
    }

    /// A page of another origin needs two things: the preflight for all headers of the web SDK, and the socket.
    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine"))
    func aBrowserOnAnotherOrigin() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let port = node.address.port
            try await Browser.with(try #require(Browser.path)) { browser in
                let window = try await browser.open("http://127.0.0.1:\(port)/")
                let name = "projects/p/locations/us-central1/services/auctions/connectors/auctions"
                let fetched = try await window.evaluate(
                    """
                    fetch('http://localhost:\(port)/v1/\(name):executeQuery?key=abc', {
                      method: 'POST',
                      headers: {'Content-Type': 'application/json', 'X-Goog-Api-Client': 'gl-js/ fire/12.18.0',
                        'X-Client-Version': 'web/12.18.0', 'x-firebase-gmpid': '1:123:web:abc',
                        'X-Firebase-AppCheck': 'none'},
                      body: JSON.stringify({name: '\(name)', operationName: 'ListLots',
                        variables: {category: 'Books'}})
                    }).then(answer => answer.json()).then(body => body.data.lots.length)
                    """)
                #expect(fetched == 10)
                let pushed = try await window.evaluate(
                    """
                    new Promise((resolve, reject) => {
                      const socket = new WebSocket('ws://localhost:\(port)/ws/google.firebase.dataconnect.v1.'
                        + 'ConnectorStreamService.Connect/p/locations/us-central1/services/auctions');
                      socket.onerror = () => reject('no socket');
                      socket.onopen = () => socket.send(JSON.stringify({requestId: '1', name: '\(name)', headers: {},
                        subscribe: {operationName: 'ListLots', variables: {category: 'Books'}}}));
                      socket.onmessage = message => resolve(JSON.parse(message.data).result.data.lots.length);
                    })
                    """)
                #expect(pushed == 10)
            }
        }
    }
}
