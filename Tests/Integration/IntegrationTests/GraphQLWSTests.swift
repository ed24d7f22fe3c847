import Foundation
import JSON
import ProtocolClients
import TestSupport
import Testing

/// The library graphql-ws, which Apollo Client, urql and Relay speak through, in Chromium, used as docs/clients/urql.md
/// says it.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct GraphQLWSTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    /// The page's first block, and the library in place of its import.
    private func code(port: Int) async throws -> String {
        let library = try await PythonClients.text(
            ofPackageFile:
                "graphene_django_graphiql_static/static/graphene_django_graphiql_static/graphql-ws.min.js")
        let page = try String(contentsOfFile: Repository.path("docs/clients/urql.md"), encoding: .utf8)
        let block = try #require(
            page.components(separatedBy: "```js\n").dropFirst().first?.components(separatedBy: "```").first)
        let imported = #"import { createClient } from "graphql-ws";"#
        #expect(block.contains(imported) && block.contains("127.0.0.1:9399"))
        let code = block.replacingOccurrences(of: imported, with: "const { createClient } = graphqlWs;")
            .replacingOccurrences(of: "127.0.0.1:9399", with: "localhost:\(port)")
        return library + "\n;\n" + code
    }

    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine"))
    func theLibraryFollowsQueriesThroughExpiryAndDrain() async throws {
        let settings = [
            "http.host=0.0.0.0", "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)", "auth.leewayMs=0",
        ]
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway", settings: settings)
            let port = node.address.port
            let code = try await code(port: port)
            let brief = TestTokens.signed(
                uid: "ann", secret: Self.secret, expiresAt: Int64(Date().timeIntervalSince1970) + 6)
            let long = TestTokens.signed(uid: "ann", secret: Self.secret)
            try await Browser.with(try #require(Browser.path)) { browser in
                let window = try await browser.open("http://127.0.0.1:\(port)/healthz")
                try await window.evaluate(
                    """
                    window.asked = 0;
                    window.token = async () => asked++ == 0 ? "\(brief)" : "\(long)";
                    window.seen = [];
                    window.see = (...what) => { seen.push(what); document.documentElement.dataset.seen = seen.length; };
                    """)
                try await window.evaluate(
                    code + """
                        ;
                        window.ws = ws;
                        const books = {category: "Books"};
                        window.ends = ["one", "two"].map((name) =>
                          follow("ListLots", books, (data) => see(name, data.lots), console.error));
                        follow("MyAccount", {}, (data) => see("account", data), console.error);
                        follow("NoSuchOperation", {}, () => {}, (errors) => see("refused", errors[0].message));
                        // Read once, and changed once, over the same socket.
                        window.once = (query, variables) => new Promise((resolve, reject) => {
                          let result;
                          ws.subscribe({query, variables}, {
                            next: (value) => result = value, error: reject, complete: () => resolve(result)});
                        });
                        0
                        """)
                for kind in ["one", "two", "account", "refused"] {
                    #expect(try await window.value(when: "seen.some(([kind]) => kind == '\(kind)')") == true)
                }
                func change(_ description: String) async throws {
                    let answer = try await window.evaluate(
                        """
                        once(`mutation EditLot($id: UUID!, $category: String!, $description: String!) {
                          lot_update(id: $id, data: {category: $category, description: $description})
                        }`, {id: seen.find(([kind]) => kind == "one")[1][0].id, category: "Books",
                          description: "\(description)"}).then((value) =>
                          value.data ? "changed" : JSON.stringify(value))
                        """)
                    #expect(answer == "changed")
                }
                func shown(_ kind: String, _ description: String) -> String {
                    "seen.some(([k, rows]) => k == '\(kind)' && rows.some((r) => r.description == '\(description)'))"
                }
                try await change("from the library")
                for kind in ["one", "two"] {
                    #expect(try await window.value(when: shown(kind, "from the library")) == true)
                }
                // The token runs out: the socket is closed with 4403, and the library comes back with the next one.
                #expect(
                    try await window.value(when: "asked > 1 && seen.filter(([k]) => k == 'account').length > 1") == true
                )
                try await window.evaluate("ends[1]()")
                try await change("for one of them")
                #expect(try await window.value(when: shown("one", "for one of them")) == true)
                #expect(try await window.evaluate(shown("two", "for one of them")) == false)

                // The node goes and another one comes at its address.
                #expect(await node.process.terminate() == 0)
                let next = try await cluster.start(
                    roles: "api,worker,gateway", settings: settings + ["http.port=\(port)"])
                _ = try await API.mutate(
                    next.address, "EditCategory", ["category": "Books", "description": "after the drain"])
                #expect(try await window.value(when: shown("one", "after the drain")) == true)
            }
        }
    }
}
