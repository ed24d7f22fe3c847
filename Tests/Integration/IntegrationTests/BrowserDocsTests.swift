import Foundation
import JSON
import ProtocolClients
import TestSupport
import Testing

/// The code of docs/clients/browser.md, as it stands there, in a page of another origin.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct BrowserDocsTests {
    /// The text of its ```js blocks.
    private func code() throws -> String {
        let text = try String(contentsOfFile: Repository.path("docs/clients/browser.md"), encoding: .utf8)
        let blocks = text.components(separatedBy: "```js\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(blocks.count == 3)
        return blocks.joined(separator: "\n")
    }

    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine"))
    func everyFunctionOfThePageWorks() async throws {
        let code = try code()
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway", settings: ["http.host=0.0.0.0"])
            let port = node.address.port
            try await Browser.with(try #require(Browser.path)) { browser in
                let window = try await browser.open("http://127.0.0.1:\(port)/healthz")
                try await window.evaluate(
                    code + """
                        ;
                        // Another origin than the page's.
                        window.url = "http://localhost:\(port)";
                        window.seen = [];
                        window.see = (...what) => {
                          seen.push(what); document.documentElement.dataset.seen = seen.length;
                        };
                        window.run = run;
                        window.ends = [
                          follow(url, "ListLots", {category: "Books"}, (data) => see("socket", data.lots)),
                          listen(url, "auctions", "ListLots", {category: "Books"}, (data) => see("events", data.lots)),
                          follow(url, "NoSuchOperation", {}, () => {}, (errors) => see("refused", errors[0].message)),
                        ];
                        0
                        """)
                for kind in ["socket", "events", "refused"] {
                    _ = try await window.value(when: "seen.some(([kind]) => kind == '\(kind)')")
                }
                try await window.evaluate(
                    """
                    run(url, "EditLot", {
                      id: seen.find(([kind]) => kind == "socket")[1][0].id, category: "Books",
                      description: "from the page"})
                    """)
                for kind in ["socket", "events"] {
                    let shown =
                        "seen.some(([k, rows]) => k == '\(kind)' && rows.some((r) => r.description == 'from the page'))"
                    #expect(try await window.value(when: shown) == true)
                }
                let refused = try await window.evaluate(
                    "run(url, 'EditLot', {}).then(() => 'done', (error) => error.message)")
                #expect(refused.stringValue?.isEmpty == false && refused != "done")

                // The node goes and another one comes at its address: both functions are back by themselves.
                let before = try await window.evaluate("seen.length")
                #expect(await node.process.terminate() == 0)
                let next = try await cluster.start(
                    roles: "api,worker,gateway", settings: ["http.host=0.0.0.0", "http.port=\(port)"])
                _ = try await API.mutate(
                    next.address, "EditCategory", ["category": "Books", "description": "after the drain"])
                for kind in ["socket", "events"] {
                    let shown = """
                        seen.slice(\(before)).some(([k, rows]) => k == '\(kind)'
                          && rows.every((r) => r.description == 'after the drain'))
                        """
                    #expect(try await window.value(when: shown) == true)
                }
                let ended = try await window.evaluate("ends.forEach((end) => end())")
                #expect(ended == .null)
            }
        }
    }

    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine"))
    func followTakesANewTokenWhenOneEndsAndReportsOneThatIsRefusedTwice() async throws {
        let code = try code()
        let secret = "0123456789abcdef0123456789abcdef"
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: [
                    "http.host=0.0.0.0", "auth.mode=hs256", "auth.hs256Secret=\(secret)", "auth.leewayMs=0",
                ])
            let port = node.address.port
            let now = Int64(Date().timeIntervalSince1970)
            let brief = TestTokens.signed(uid: "ann", secret: secret, expiresAt: now + 6)
            let ended = TestTokens.signed(uid: "ann", secret: secret, expiresAt: now - 60)
            let long = TestTokens.signed(uid: "ann", secret: secret)
            try await Browser.with(try #require(Browser.path)) { browser in
                let window = try await browser.open("http://127.0.0.1:\(port)/healthz")
                try await window.evaluate(
                    code + """
                        ;
                        window.seen = [];
                        window.see = (...what) => {
                          seen.push(what); document.documentElement.dataset.seen = seen.length;
                        };
                        window.asked = {};
                        // The last token is given again and again.
                        window.watch = (name, tokens) => follow("http://localhost:\(port)", "MyAccount", {},
                          (data) => see(name, data), (errors) => see(name + " failed", errors[0].message),
                          async () => {
                            asked[name] = (asked[name] ?? 0) + 1;
                            return tokens.length > 1 ? tokens.shift() : tokens[0];
                          });
                        watch("renewed", ["\(brief)", "\(long)"]);
                        watch("stuck", ["\(brief)"]);
                        watch("ended", ["\(ended)"]);
                        0
                        """)
                for name in ["renewed", "stuck"] {
                    #expect(try await window.value(when: "seen.some(([kind]) => kind == '\(name)')") == true)
                }
                for name in ["ended", "stuck"] {
                    #expect(
                        try await window.value(
                            when: "seen.some(([k, text]) => k == '\(name) failed' && text == 'the token is refused')")
                            == true)
                }
                #expect(
                    try await window.value(when: "seen.filter(([kind]) => kind == 'renewed').length > 1") == true)
                #expect(try await window.evaluate("asked.renewed") == 2)
                #expect(try await window.evaluate("asked.ended") == 2)
                #expect(try await window.evaluate("asked.stuck") == 2)
                #expect(try await window.evaluate("seen.some(([kind]) => kind == 'renewed failed')") == false)
            }
        }
    }
}
