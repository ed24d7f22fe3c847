import Foundation
import JSON
import TestSupport
import Testing

/// `EventSource` on `/graphql` of `freshet dev`, as browsers have it without any library.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct BrowserStreamTests {
    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine"))
    func eventSourceFollowsAndGetsTheEnd() async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path + "/data"
        let node = try FreshetProcess([
            "dev", SampleProject.path, "--no-generate", "--set", "http.port=0", "--set", "admin.port=0", "--set",
            "dev.dataDirectory=\(folder)",
        ])
        let line = try await node.line(containing: "Freshet serves")
        let url = String(line.split(separator: " ").last ?? "")
        try await Browser.with(try #require(Browser.path)) { browser in
            let window = try await browser.open(url)
            try await window.evaluate(
                """
                window.seen = [];
                const see = (...event) => { seen.push(event); document.documentElement.dataset.seen = seen.length; };
                const fields = "($category: String) { lots(where: {category: {eq: $category}, open: {eq: true}, "
                  + "closesAt: {gt_time: {now: true}}}, orderBy: [{closesAt: ASC}], limit: 10) "
                  + "{ id title category description highestBid closesAt } }";
                function follow(kind) {
                  const source = new EventSource("/graphql?" + new URLSearchParams({
                    query: kind + " ListLots" + fields, variables: JSON.stringify({category: "Books"})}));
                  source.addEventListener("next", (event) => see(kind, JSON.parse(event.data).data.lots));
                  source.addEventListener("complete", (event) => { see(kind, "complete"); source.close(); });
                }
                follow("subscription");
                follow("query");
                """)
            // An event without data would never reach the page.
            let complete = try await window.value(
                when: "seen.filter(([k, d]) => k == 'query' && d == 'complete').length")
            #expect(complete == 1)
            _ = try await window.value(when: "seen.some(([k]) => k == 'subscription')")
            try await window.evaluate(
                """
                fetch("/graphql", {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify({
                  operationName: "EditLot", variables: {
                    id: seen.find(([k]) => k == "subscription")[1][0].id, category: "Books",
                    description: "by EventSource"}})});
                """)
            let rows = try await window.value(
                when:
                    """
                    seen.filter(([k, d]) => k == 'subscription' && d != 'complete'
                      && d.some((r) => r.description == 'by EventSource')).length
                    """
            )
            #expect(rows == 1)
            #expect(try await window.evaluate("seen.some(([k, d]) => k == 'subscription' && d == 'complete')") == false)
            // Editors' stream of issues (docs/reference/sql-connect.md §7): a line at once, then open until the node
            // ends.
            let issues = try await window.evaluate(
                """
                fetch("/emulator/stream_issues").then(async (answer) => {
                  window.issues = answer.body.getReader();
                  const {value} = await issues.read();
                  window.issuesEnd = "open";
                  issues.read().then(({done}) => { window.issuesEnd = done; }, () => { window.issuesEnd = "broken"; });
                  return [answer.status, answer.headers.get("content-type"), new TextDecoder().decode(value)].join(" ");
                })
                """)
            #expect(issues == .string("200 application/json {\"result\":{\"issues\":[]}}\n"))
            #expect(try await window.evaluate("issuesEnd") == "open")
            let posted = try await window.evaluate(
                "fetch('/emulator/stream_issues', {method: 'POST'}).then((a) => a.status + a.headers.get('allow'))")
            #expect(posted == "405GET")
            let info = try await window.evaluate("fetch('/emulator/info').then((answer) => answer.json())")
            #expect(info["services"]?[0]?["serviceId"] == "auctions")
            #expect(info["services"]?[0]?["connectionString"]?.stringValue?.isEmpty == false)
            #expect(info["version"]?.stringValue?.isEmpty == false)
            let configured = try await window.evaluate(
                "fetch('/emulator/configure', {method: 'POST', body: '{\"use_dummy\":true}'}).then((a) => a.status)")
            #expect(configured == 200)
        }
        node.signal(SIGINT)
        #expect(await node.waitForExit() == 0)
    }
}
