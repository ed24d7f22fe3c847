import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Screens, commands and reports say the same about what the node did.
///
/// Long, because each screen and command stands here once, on one node.
extension ConsoleTests {
    /// Edits a lot that the test's subscriber follows; returns the trace.
    @discardableResult
    private func edit(_ address: ServerAddress, _ lot: String, _ description: String) async throws -> String {
        let response = try await HTTPCall.send(
            .POST, address, path: "/v1/connectors/auctions/mutations/EditLot",
            headers: ["content-type": "application/json", "x-freshet-trace": "1"],
            body: JSONWriter.compact([
                "variables": ["id": .string(lot), "category": "Books", "description": .string(description)]
            ]))
        try #require(response.status == 200, "\(String(decoding: response.body, as: UTF8.self))")
        return try #require(response.headers.first(name: "x-trace-id"))
    }

    /// The texts of a table's cells, row by row.
    private func cells(_ window: Browser.Window, _ screen: String) async throws -> [[String]] {
        let found = try await window.evaluate(
            """
            [...document.querySelector('#screen-\(screen) live-table tbody')?.rows ?? []].filter(row => !row.hidden)
              .map(row => [...row.cells].map(cell => cell.textContent))
            """)
        return (found.arrayValue ?? []).map { ($0.arrayValue ?? []).compactMap(\.stringValue) }
    }

    /// Waits until a screen's cells are those that the report says.
    private func agree(
        _ window: Browser.Window, _ admin: ServerAddress, _ screen: String, _ path: String,
        shown: ([String]) -> [String], reported: (JSONValue) -> [[String]]
    ) async throws {
        var last = ""
        _ = try await waitFor("\(screen) to say what \(path) says: \(last)") {
            let (wanted, found) = (
                reported(try await Self.get(admin, path)), try await cells(window, screen).map(shown)
            )
            last = "\(found) instead of \(wanted)"
            return !wanted.isEmpty && found == wanted ? true : nil
        }
    }

    func reports(
        _ window: Browser.Window, _ admin: ServerAddress, _ address: ServerAddress, _ subscriber: Subscriber
    ) async throws {
        let list = try JSONParser.parse(try await API.get(address, "ListLots", ["category": "Books"]).body)
        let lot = try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
        // The first one makes another result, the second the same one.
        let trace = try await edit(address, lot, "Reports")
        _ = try await subscriber.data { $0.description.contains("Reports") }
        try await edit(address, lot, "Reports")
        try await rules(window, admin)
        try await topAndCapacity(window, admin)
        try await tracesAndTails(window, admin, address, lot: lot, trace: trace)
        try await deploymentsAndSchema(window, admin)
        try await filters(window, admin)
        try await senders(window)
        try await refusals(window)
        try await commands(admin, lot: lot, trace: trace)
    }

    private func rules(_ window: Browser.Window, _ admin: ServerAddress) async throws {
        let rule = try await waitFor("the rule's runs") { () -> JSONValue? in
            try await Self.get(admin, "/admin/v1/rules").rows("rules").first {
                $0["operation"] == "auctions/ListLots" && $0["kind"] == "rows" && $0["fired"] == 2
            }
        }
        #expect(rule["changed"] == 1 && rule["wasted"] == 1 && rule["wastedShare"] == 0.5, "\(rule)")
        #expect((rule["databaseMs"]?.doubleValue ?? 0) > 0)
        try await window.evaluate("location.hash = '#/rules'")
        try await agree(window, admin, "rules", "/admin/v1/rules") { row in
            row.count > 7 ? [row[0], row[7], row[1], row[2], row[3]] : row
        } reported: { answer in
            answer.rows("rules").map { rule in
                let fired = rule["fired"]?.description ?? ""
                return [
                    rule["operation"]?.stringValue ?? "", rule["rule"]?.stringValue ?? "",
                    fired == "0" ? "never" : fired, rule["changed"]?.description ?? "",
                    rule["wasted"]?.description ?? "",
                ]
            }
        }
        #expect(try await cells(window, "rules").contains { $0[1] == "never" }, "rules that never fired are listed")
    }

    private func topAndCapacity(_ window: Browser.Window, _ admin: ServerAddress) async throws {
        try await window.evaluate("location.hash = '#/top'")
        _ = try await window.value(when: "document.querySelector('#screen-top button[aria-pressed]')")
        try await window.evaluate("document.querySelector('#screen-top button[aria-pressed]').click()")
        try await agree(window, admin, "top", "/admin/v1/top?limit=1000") { row in
            row.count > 10 ? [row[0], row[2], row[3], row[8], row[10]] : row
        } reported: { answer in
            answer.rows("operations").map { row in
                let total = row["total"]
                return [row["operation"]?.stringValue ?? ""]
                    + ["runs", "changed", "requests", "deliveries"].map {
                        "\(Int((total?[$0]?.doubleValue ?? 0).rounded()))"
                    }
            }
        }
        let top = try await Self.get(admin, "/admin/v1/top")
        let followed = top.rows("operations").first { $0["operation"] == "auctions/ListLots" }
        #expect((followed?["recentStatementMs"]?["p99"]?.doubleValue ?? 0) > 0, "\(top)")
        try await window.evaluate("location.hash = '#/capacity'")
        let facts = """
            Object.fromEntries([...document.querySelectorAll('#screen-capacity dl div')].map(row =>
              [row.querySelector('dt').textContent, row.querySelector('dd').textContent]))
            """
        _ = try await window.value(when: "document.querySelector('#screen-capacity dl')")
        let (shown, capacity) = (try await window.evaluate(facts), try await Self.get(admin, "/admin/v1/capacity"))
        let connections = Int(capacity["measured"]?["connections"]?.doubleValue ?? 0)
        #expect(connections > 0 && shown["Connections to the database"]?.stringValue == "\(connections)", "\(shown)")
        let nodes = Int(capacity["needed"]?["nodes"]?.doubleValue ?? 0)
        #expect(shown["Nodes"]?.stringValue == "\(nodes)", "\(shown)")
        #expect((capacity["measured"]?["databaseShare"]?.doubleValue ?? -1) >= 0, "\(capacity)")
    }

    private func tracesAndTails(
        _ window: Browser.Window, _ admin: ServerAddress, _ address: ServerAddress, lot: String, trace: String
    ) async throws {
        let report = try await waitFor("the trace's delivery") { () -> JSONValue? in
            let report = try await Self.get(admin, "/admin/v1/trace/\(trace)")
            return report.rows("spans").contains { $0["kind"] == "delivered" } ? report : nil
        }
        try await window.evaluate("location.hash = '#/trace?id=\(trace)'")
        let lead = "document.querySelector('#trace .lead')?.textContent"
        let sentence = try #require(report["sentence"]?.stringValue)
        #expect(try await window.value(when: "\(lead) == \(JSONValue.string(sentence))") == true)
        let steps = try await window.evaluate("document.querySelectorAll('#trace .timeline li').length")
        #expect(steps == .int(Int64(report.rows("spans").count)))
        // Sampling, over the cluster.
        let sampling = "document.querySelector('#sampling')?.textContent"
        _ = try await window.value(when: "\(sampling)?.startsWith('Only mutations')")
        try await window.evaluate("document.querySelector('#sampling-start').click()")
        _ = try await window.value(when: "\(sampling)?.startsWith('1 of 1 node trace up to 100 %')")
        #expect(try await Self.get(admin, "/admin/v1/recording")["nodes"]?[0]?["traceRate"] == 1.0)
        try await window.evaluate("document.querySelector('#sampling-stop').click()")
        _ = try await window.value(when: "\(sampling)?.startsWith('Only mutations')")
        #expect(try await Self.get(admin, "/admin/v1/recording")["traceRate"] == 0.0)

        try await window.evaluate("location.hash = '#/tail'")
        _ = try await window.value(
            when: "document.querySelector('#screen-tail [role=status]')?.textContent.includes('audit log')")
        try await edit(address, lot, "Tail")
        for words in ["auctions/EditLot: 1 of 1 live query matched", "auctions/ListLots ran because of rows: changed"] {
            let line = "[...document.querySelectorAll('#tail li')].some(line => line.textContent.includes('\(words)'))"
            #expect(try await window.value(when: line) == true, "\(words)")
        }
    }

    private func deploymentsAndSchema(_ window: Browser.Window, _ admin: ServerAddress) async throws {
        try await window.evaluate("location.hash = '#/deployments'")
        try await agree(window, admin, "deployments", "/admin/v1/deployments") { row in
            row.count > 6 ? [String(row[0].prefix(12)), row[1], row[4], row[5]] : row
        } reported: { answer in
            answer.rows("deployments").map { row in
                [
                    String((row["version"]?.stringValue ?? "").prefix(12)), row["standing"]?.stringValue ?? "current",
                    row["sessions"]?.intValue.map { "\($0)" } ?? "–",
                    row.rows("nodes").compactMap(\.stringValue).joined(separator: ", "),
                ]
            }
        }
        let use = try await Self.get(admin, "/admin/v1/adoption")
        #expect(
            use["operations"]?[0]?["operation"] == "auctions/ListLots" && use["operations"]?[0]?["isCurrent"] == true)
        let own = "document.querySelectorAll('#screen-deployments live-table')[1]?.textContent"
        _ = try await window.value(when: "\(own)?.includes('auctions/ListLots')")
        try await window.evaluate("location.hash = '#/schema'")
        let state = try await window.value(when: "document.querySelector('#schema-state')?.textContent")
        let tables = try await Self.get(admin, "/admin/v1/schema").rows("tables")
        #expect(state == .string("\(tables.count) types of \(tables.count)."))
        #expect(
            try await window.evaluate(
                "document.querySelector('#screen-schema pre').textContent.includes('type Lot')") == true)
    }

    private func filters(_ window: Browser.Window, _ admin: ServerAddress) async throws {
        #expect(try await Self.get(admin, "/admin/v1/live-queries?user=nobody")["matching"] == 0)
        try await window.evaluate("location.hash = '#/live-queries?user=nobody'")
        let status = "document.querySelector('#screen-live-queries [role=status]')?.textContent"
        _ = try await window.value(when: "\(status)?.startsWith('0 shown of ')")
        try await window.evaluate("location.hash = '#/operations?operation=auctions/ListLots'")
        _ = try await window.value(when: "document.querySelector('#screen-operations details')")
        try await window.evaluate("document.querySelector('#screen-operations details').open = true")
        let rules = try await window.value(when: "document.querySelector('#screen-operations .rules')?.textContent")
        #expect(rules.stringValue?.contains("changes of lot hash lookup exact") == true, "\(rules)")
    }

    /// Runs a query of users as a user, with claims, and signed out.
    private func senders(_ window: Browser.Window) async throws {
        try await window.evaluate("location.hash = '#/operations?operation=auctions/MyAccount'")
        _ = try await window.value(
            when: "document.querySelector('#screen-operations h2')?.textContent.endsWith('MyAccount')")
        let state = "document.querySelector('#run-state').textContent"
        func run(as kind: String, claims: String = "") async throws {
            try await window.evaluate(
                """
                (() => {
                  const form = document.querySelector('#screen-operations form');
                  form.elements.as.value = '\(kind)';
                  form.elements.as.dispatchEvent(new Event('change'));
                  form.elements.uid.value = 'ada01';
                  form.elements.claims.value = `\(claims)`;
                  document.querySelector('#run-state').textContent = '';
                  form.requestSubmit();
                })()
                """)
        }
        try await run(as: "user", claims: #"{"role": "staff"}"#)
        _ = try await window.value(when: "\(state).startsWith('Answered after')")
        #expect(
            try await window.evaluate("JSON.parse(document.querySelector('.result').textContent).user.uid") == "ada01")
        try await run(as: "out")
        _ = try await window.value(when: "\(state).startsWith('Refused after')")
        #expect(try await window.evaluate("document.querySelector('.result')") == .null)
        try await run(as: "user", claims: "no JSON")
        let problem = try await window.value(when: "document.querySelector('#output .bad')?.textContent")
        #expect(problem.stringValue?.isEmpty == false, "\(problem)")
        #expect(
            try await window.value(when: "document.querySelector('#output').textContent.includes('claims')") == true)
    }

    /// Actions that the rules refuse the caller are switched off, and say why.
    private func refusals(_ window: Browser.Window) async throws {
        let why = "admin.writeRule does not admit this user"
        func refuse(_ paths: [String]) async throws {
            let refused = JSONObject(paths.map { ($0, JSONValue.string(why)) })
            try await window.evaluate(
                "import('/console/access.js').then(access => access.setRefused(\(JSONValue.object(refused))))")
            try await window.evaluate("location.hash = '#/home'")
            _ = try await window.value(when: "document.querySelector('#verdict')")
            try await window.evaluate("location.hash = '#/sessions'")
        }
        try await refuse(["/admin/v1/sessions/{session}/end", "/admin/v1/recording"])
        let button = "document.querySelector('#screen-sessions button[aria-label^=\"End session\"]')"
        #expect(try await window.value(when: "\(button)?.title") == .string(why))
        #expect(try await window.evaluate("\(button).ariaDisabled") == "true")
        try await window.evaluate("\(button).click()")
        #expect(try await window.evaluate("document.querySelector('dialog.confirm')") == .null)
        #expect(try await window.evaluate(PageRules.structure) == [])
        try await window.evaluate("location.hash = '#/trace'")
        #expect(try await window.value(when: "document.querySelector('#sampling-start')?.title") == .string(why))
        #expect(try await window.evaluate("document.querySelector('#sampling-stop').title") == "")
        try await refuse([])
        #expect(try await window.value(when: "\(button) && \(button).title == ''") == true)
    }

    // MARK: Commands

    private func command(
        _ admin: ServerAddress, _ arguments: [String]
    ) async throws -> (code: Int32, text: String) {
        let process = try FreshetProcess(
            arguments,
            environment: [
                "FRESHET_ADMIN_URL": "http://\(admin.host):\(admin.port)", "FRESHET_ADMIN_TOKEN": Self.token,
            ])
        return (await process.waitForExit(), process.output)
    }

    /// A drained node has no shards and no sessions, which is critical.
    func exitCodes(_ admin: ServerAddress) async throws {
        #expect(try await command(admin, ["admin", "drain", "dev"]).code == 0)
        _ = try await waitFor("the exit code 1") { () -> Bool? in
            try await command(admin, ["admin", "status"]).code == 1 ? true : nil
        }
        #expect(try await command(admin, ["admin", "undrain", "dev"]).code == 0)
        _ = try await waitFor("the exit code 0") { () -> Bool? in
            try await command(admin, ["admin", "status"]).code == 0 ? true : nil
        }
    }

    private func commands(_ admin: ServerAddress, lot: String, trace: String) async throws {
        func says(
            _ arguments: [String], _ words: [String], code: Int32 = 0, isAdmin: Bool = true
        ) async throws {
            let (found, text) = try await command(admin, (isAdmin ? ["admin"] : []) + arguments)
            #expect(found == code, "\(arguments): \(text)")
            for word in words { #expect(text.contains(word), "\(arguments) without \(word): \(text)") }
            #expect(!text.contains("\u{1b}["), "\(arguments): no colours in a pipe")
        }
        try await says(["top"], ["per minute", "auctions/ListLots", "request time", "p99"])
        try await says(["top", "--total"], ["since the nodes' starts", "auctions/EditLot"], isAdmin: false)
        try await says(
            ["capacity", "--factor", "3"], ["3 times the load would need", "Database's share", "such nodes"])
        try await says(["rules"], ["wasted share", "automatic: lot where category = $category", "never fired"])
        try await says(["rules", "--operation", "auctions/LotBids"], ["2 rules of 2 never fired"])
        try await says(
            ["live-queries", "--operation", "auctions/ListLots"], ["1 of ", "auctions/ListLots", "last run took"])
        try await says(["live-queries", "--user", "nobody"], ["0 of "])
        try await says(["sessions", "--by", "version"], ["operation's version", "auctions/ListLots", "current"])
        try await says(["sessions", "--by", "client"], ["client", "of 1 session"])
        try await says(["sessions", "--by", "client", "--user", "ann"], ["give no filter"], code: 64)
        try await says(["deployments"], ["state", "sessions"])
        try await says(["schema"], ["Lot", "category String!"])
        try await says(["operations"], ["auctions/ListLots", "mutation", "PUBLIC"])
        try await says(
            ["operations", "auctions/ListLots"],
            ["changes of lot: hash lookup", "SQL for many live queries", "Refreshed by", "auctions/EditLot: "])
        try await says(["operations", "ListLots"], ["CONNECTOR/OPERATION"], code: 64)
        try await says(["live-queries", "--limit", "0"], ["; --limit lists more than 0"])
        try await says(["slot"], ["Health", "There are no publications."])
        try await says(["trace", trace], ["auctions/EditLot reached", "Delivered", "to 1 session"])
        try await says(["trace", "--arm", "100", "--minutes", "5"], ["traces 100 % of the mutations for 300 s"])
        #expect(try await Self.get(admin, "/admin/v1/recording")["traceRate"] == 1.0)
        try await says(["trace", "--recording"], ["recording until", "100 %"])
        try await says(["trace", "--stop"], ["records nothing any more"])
        #expect(try await Self.get(admin, "/admin/v1/recording")["traceRate"] == 0.0)
        try await says(["trace", "--arm", "0"], ["1 to 100"], code: 64)
        try await says(["plan", "ListLots", "--vars", #"{"category": "Books"}"#], ["rows kept"])
        try await says(["why", "ListLots", "--vars", #"{"category": "Books"}"#], ["FRESH", "as the database"])
        try await says(["why", "ListLots", "--vars", #"{"category": "None"}"#], ["UNCLEAR", "not_followed"], code: 3)
        try await says(["status"], ["All is well"])

        // The page has left its tail, or is about to.
        _ = try await waitFor("the page's tail to end") { () -> Bool? in
            try await Self.get(admin, "/admin/v1/recording")["tails"] == 0 ? true : nil
        }
        let tail = try FreshetProcess(
            ["tail", "--kind", "event"],
            environment: [
                "FRESHET_ADMIN_URL": "http://\(admin.host):\(admin.port)", "FRESHET_ADMIN_TOKEN": Self.token,
            ])
        _ = try await waitFor("an open tail") { () -> Bool? in
            try await Self.get(admin, "/admin/v1/recording")["tails"] == 1 ? true : nil
        }
        let words = try await HTTPCall.send(
            .POST, admin,
            path: "/v1/projects/p/locations/us-central1/services/auctions/connectors/auctions:impersonateMutation",
            headers: ["content-type": "application/json", "authorization": "Bearer \(Self.token)"],
            body: JSONWriter.compact([
                "operationName": "EditLot",
                "variables": ["id": .string(lot), "category": "Books", "description": "Tail of a terminal"],
            ]))
        #expect(words.status == 200, "\(String(decoding: words.body, as: UTF8.self))")
        // Live queries of earlier steps may still be there.
        let told = try await tail.line(containing: "auctions/EditLot: ")
        #expect(told.contains(" matched"), "\(told)")
        tail.signal(SIGINT)
        _ = await tail.waitForExit()
    }
}
