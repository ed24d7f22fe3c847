import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// The console on the admin port, in a real browser: every screen at two widths and in both themes keeps the rules of
/// `PageRules` and has no errors, says what the JSON says, can be used by the keyboard alone, shows ten thousand live
/// queries, and survives a restart of the server.
@Suite(.serialized, .timeLimit(.minutes(6)))
struct ConsoleTests {
    static let token = "a-long-admin-token"

    private static func start(_ folder: String, ports: (http: Int, admin: Int) = (0, 0)) throws -> FreshetProcess {
        try FreshetProcess([
            "dev", SampleProject.path, "--no-generate", "--no-reload", "--set", "http.port=\(ports.http)", "--set",
            "admin.port=\(ports.admin)", "--set", "admin.token=\(token)", "--set", "dev.dataDirectory=\(folder)",
            "--set", "gateway.subscriptionsPerSessionMax=20000", "--set", "gateway.subscriptionsPerUserMax=0",
            "--set", "gateway.subscriptionsPerAddressMax=0", "--set", "gateway.messagesPerSecond=0", "--set",
            "gateway.messagesPerAddressPerSecond=0", "--set", "gateway.liveQueriesPerAddressPerSecond=0",
        ])
    }

    private static func port(in line: String) throws -> Int {
        try #require(line.firstMatch(of: #/127\.0\.0\.1:(\d+)/#).flatMap { Int($0.1) })
    }

    static func get(_ address: ServerAddress, _ path: String) async throws -> JSONValue {
        try JSONParser.parse(
            try await HTTPCall.send(
                .GET, address, path: path, headers: ["authorization": "Bearer \(token)"]
            ).body)
    }

    /// The screens, each with an expression that holds once it shows something.
    private static let screens: [(path: String, isThere: String)] = [
        ("home", "document.querySelector('#verdict') && document.querySelector('live-table tbody td')"),
        ("why", "document.querySelector('#why') && document.querySelector('[name=operation]')"),
        (
            "trace",
            "document.querySelector('[name=id]') && "
                + "document.querySelector('#sampling')?.textContent.endsWith('recorded.')"
        ),
        ("tail", "document.querySelector('[role=status].hint')?.textContent.includes('audit log')"),
        ("operations", "document.querySelector('variable-form') && document.querySelectorAll('.list a').length > 5"),
        ("schema", "document.querySelector('#schema-state')?.textContent.includes('types of')"),
        ("sessions", "/of \\d+ session/.test(document.querySelector('[role=status].hint')?.textContent)"),
        ("flight", "document.querySelector('#flight-state')?.textContent.startsWith('Name a user')"),
        ("live-queries", "document.querySelector('live-table tbody a')"),
        (
            "rules",
            "document.querySelectorAll('live-table tbody td code').length > 5 && "
                + "document.querySelector('#recording')?.textContent.includes('recorded')"
        ),
        ("top", "document.querySelector('live-table tbody a')"),
        ("capacity", "document.querySelectorAll('.card li').length > 3"),
        ("deployments", "document.querySelector('live-table tbody code')"),
    ]

    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine"))
    func everyScreenSaysWhatTheReportsSayAndSurvivesARestart() async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path + "/data"
        var node = try Self.start(folder)
        let publicAddress = try ServerAddress(
            String((try await node.line(containing: "Freshet serves")).split(separator: " ").last ?? ""))
        let adminPort = try Self.port(in: try await node.line(containing: "  admin "))
        let admin = try ServerAddress("http://127.0.0.1:\(adminPort)")
        try await assets(admin)
        let subscriber = try await Subscriber.connect(publicAddress)
        subscriber.subscribe("ListLots", ["category": "Books"])
        try await Browser.with(try #require(Browser.path)) { browser in
            let url = "http://127.0.0.1:\(adminPort)/"
            let window = try await browser.open(url)
            try await signIn(window)
            // The sample's screen is a client, and clients are served by the public port.
            #expect(try await window.evaluate("document.querySelector('nav a').textContent") == "Home")
            for (path, isThere) in Self.screens {
                try await window.evaluate("location.hash = '#/\(path)'")
                let there = "document.querySelector('#screen-\(path)') && \(isThere) && true"
                #expect(try await window.value(when: there) == true, "\(path)")
                try await window.keepsRules("\(path) at 1280")
                try await window.showsFocus(path)
            }
            try await rulesFind(window)
            let narrow = try await browser.open(url, width: 390, height: 800)
            try await signIn(narrow)
            for (path, isThere) in Self.screens {
                try await narrow.evaluate("location.hash = '#/\(path)'")
                let there = "document.querySelector('#screen-\(path)') && \(isThere) && true"
                #expect(try await narrow.value(when: there) == true, "\(path)")
                try await narrow.keepsRules("\(path) at 390")
            }
            // Pages that nobody sees do not poll.
            try await window.bringToFront()
            try await same(window, admin)
            try await reports(window, admin, publicAddress, subscriber)
            try await run(window)
            try await keyboard(window)
            try await tableKeepsFocus(window)
            try await trial(window)
            try await flightAndPlan(window)
            try await end(window)
            try await longList(window, admin, publicAddress)
            try await exitCodes(admin)

            // A restart on the same ports: the page says so and goes on.
            try await window.evaluate("location.hash = '#/home'")
            _ = try await window.value(when: "document.querySelector('#verdict')")
            node.signal(SIGINT)
            #expect(await node.waitForExit() == 0)
            _ = try await window.value(when: "document.querySelector('#connection').className == 'lost'")
            node = try Self.start(folder, ports: (publicAddress.port, adminPort))
            _ = try await node.line(containing: "Freshet serves")
            let back = "document.querySelector('#connection').className == 'back'"
            #expect(try await window.value(when: "\(back) && document.querySelector('#verdict') && true") == true)
            #expect(try await window.evaluate("faults") == [])
        }
        node.signal(SIGINT)
        #expect(await node.waitForExit() == 0)
    }

    /// The page is open, its data is not; files have tags and a policy without inline scripts.
    private func assets(_ admin: ServerAddress) async throws {
        let page = try await HTTPCall.send(.GET, admin, path: "/")
        #expect(page.status == 200)
        let policy = page.headers.first(name: "content-security-policy") ?? ""
        #expect(policy.contains("script-src 'self'") && !policy.contains("unsafe"))
        let tag = try #require(page.headers.first(name: "etag"))
        let again = try await HTTPCall.send(.GET, admin, path: "/", headers: ["if-none-match": tag])
        #expect(again.status == 304 && again.body.isEmpty)
        #expect(try await HTTPCall.send(.GET, admin, path: "/console/main.js").status == 200)
        #expect(try await HTTPCall.send(.GET, admin, path: "/console/other.js").status == 401)
        #expect(try await HTTPCall.send(.GET, admin, path: "/admin/v1/overview").status == 401)
    }

    private func signIn(_ window: Browser.Window) async throws {
        _ = try await window.value(when: "document.querySelector('#login')?.open")
        try await window.evaluate(
            """
            document.querySelector('#login-token').value = 'wrong';
            document.querySelector('#login form').requestSubmit();
            """)
        _ = try await window.value(
            when: "document.querySelector('#login')?.open && document.querySelector('#login-error')?.textContent")
        try await window.evaluate(
            """
            document.querySelector('#login-token').value = '\(Self.token)';
            document.querySelector('#login form').requestSubmit();
            """)
        _ = try await window.value(when: "document.querySelector('#nav a')")
    }

    /// Screens and reports agree.
    private func same(_ window: Browser.Window, _ admin: ServerAddress) async throws {
        let overview = try await Self.get(admin, "/admin/v1/overview")
        #expect(overview["level"] == "ok", "\(overview["verdict"] ?? .null)")
        try await window.evaluate("location.hash = '#/home'")
        let verdict = try await window.value(when: "document.querySelector('#verdict.ok')?.textContent")
        #expect(verdict.stringValue?.hasSuffix("live query.") == true, "\(verdict)")
        #expect(overview["verdict"]?.stringValue?.hasPrefix("All is well: 1 node, 64 shards") == true)

        let sessions = try await Self.get(admin, "/admin/v1/sessions?operation=auctions/ListLots")
        #expect(sessions["matching"] == 1 && sessions["sessions"]?[0]?["operations"] == ["auctions/ListLots"])
        try await window.evaluate("location.hash = '#/sessions'")
        let row = "document.querySelector('#screen-sessions live-table tbody')?.textContent"
        let shown = try await window.value(when: "\(row)?.includes('ListLots') && \(row)")
        #expect(shown.stringValue?.contains("graphql-transport-ws") == true, "\(shown)")

        let queries = try await Self.get(admin, "/admin/v1/live-queries")
        let key = try #require(queries["liveQueries"]?[0]?["key"]?.stringValue)
        try await window.evaluate("location.hash = '#/live-queries'")
        let link = "document.querySelector('#screen-live-queries live-table tbody a')?.getAttribute('href')"
        #expect(try await window.value(when: link) == .string("#/why?key=\(key)"))
        // Its answer to the leading question.
        try await window.evaluate("location.hash = '#/why?key=\(key)'")
        let code = try await window.value(when: "document.querySelector('#why-verdict')?.dataset.code")
        #expect(code == "fresh")
        #expect(try await window.evaluate(PageRules.structure) == [])
    }

    /// Runs and follows an operation by its form.
    private func run(_ window: Browser.Window) async throws {
        try await window.evaluate("location.hash = '#/operations?operation=auctions/ListLots'")
        _ = try await window.value(when: "document.querySelector('variable-form [name=category]')")
        try await window.evaluate(
            """
            document.querySelector('[name=category]').value = 'Books';
            document.querySelector('#follow').click();
            """)
        let state = "document.querySelector('#run-state').textContent"
        _ = try await window.value(when: "\(state).startsWith('Following: 1 result')")
        #expect(
            try await window.evaluate("JSON.parse(document.querySelector('.result').textContent).lots.length") == 10)
        try await window.evaluate("document.querySelector('#screen-operations form').requestSubmit()")
        _ = try await window.value(when: "\(state).startsWith('Answered after')")
        #expect(try await window.evaluate(PageRules.structure) == [])
    }

    /// Records events, tries a rule, and shows where a mistake in a condition is.
    private func trial(_ window: Browser.Window) async throws {
        try await window.evaluate("location.hash = '#/rules?operation=auctions/LotBids'")
        _ = try await window.value(when: "document.querySelector('#trial-form [name=condition]')")
        try await window.evaluate("document.querySelector('#record').click()")
        _ = try await window.value(when: "document.querySelector('#recording').textContent.includes('Recording until')")
        try await window.evaluate(
            """
            document.querySelector('#trial-form [name=condition]').value = 'false';
            document.querySelector('#trial-form').requestSubmit();
            """)
        let verdict = try await window.value(when: "document.querySelector('#trial-verdict')?.textContent")
        #expect(verdict == "No event is recorded: nothing can be said.")
        #expect(try await window.evaluate(PageRules.structure) == [])
        try await window.evaluate(
            """
            document.querySelector('#trial-form [name=condition]').value = 'true && mutaton.variables.x';
            document.querySelector('#trial-form').requestSubmit();
            """)
        let problem = try await window.value(when: "document.querySelector('#trial .bad')?.textContent")
        #expect(problem.stringValue?.hasPrefix("1:9 of the condition") == true, "\(problem)")
        #expect(try await window.evaluate("document.activeElement.selectionStart") == 8)
        // The arrow keys choose another query, and stay in the list.
        let queries = "document.querySelector('[name=trial-operation]')"
        try await window.evaluate("document.querySelector('#trial-form').id = 'former'; \(queries).focus()")
        let isLast = try await window.evaluate("\(queries).selectedIndex === \(queries).options.length - 1") == true
        try await window.press(isLast ? "ArrowUp" : "ArrowDown")
        let another = "document.querySelector('#trial-form') && \(queries).value !== 'auctions/LotBids'"
        #expect(try await window.value(when: another) == true)
        #expect(try await window.evaluate("document.activeElement.name") == "trial-operation")
    }

    private func flightAndPlan(_ window: Browser.Window) async throws {
        try await window.evaluate("location.hash = '#/flight?uid=ann'")
        _ = try await window.value(when: "document.querySelector('#flight-start')")
        try await window.evaluate("document.querySelector('#flight-start').click()")
        let state = "document.querySelector('#flight-state').textContent"
        _ = try await window.value(when: "\(state).startsWith('Recording until')")
        #expect(try await window.evaluate(PageRules.structure) == [])
        try await window.evaluate("location.hash = '#/operations?operation=auctions/ListLots'")
        _ = try await window.value(when: "document.querySelector('#explain')")
        try await window.evaluate(
            "document.querySelector('[name=category]').value = 'Books'; document.querySelector('#explain').click()")
        let plan = try await window.value(when: "document.querySelector('#plan-verdict')?.textContent")
        #expect(plan.stringValue?.contains("rows") == true, "\(plan)")
        #expect(try await window.evaluate(PageRules.structure) == [])
    }

    /// Ends the only session by keyboard: the question can be left by Escape.
    private func end(_ window: Browser.Window) async throws {
        try await window.evaluate("location.hash = '#/sessions'")
        let button = "document.querySelector('#screen-sessions button[aria-label^=\"End session\"]')"
        _ = try await window.value(when: button)
        try await window.evaluate("\(button).focus(); \(button).click()")
        #expect(
            try await window.value(
                when: "document.querySelector('dialog.confirm')?.open && document.activeElement.value")
                == "no")
        #expect(try await window.evaluate(PageRules.structure) == [])
        // The table is redrawn while the question is open.
        try await window.evaluate(
            """
            window.formerButton = \(button);
            const list = document.querySelector('#screen-sessions live-table');
            const rows = list.rows;
            list.rows = [];
            list.rows = rows;
            document.activeElement.click();
            """)
        #expect(try await window.value(when: "!document.querySelector('dialog.confirm')") == true)
        #expect(try await window.evaluate("document.activeElement === \(button) && !formerButton.isConnected") == true)
        #expect(try await window.evaluate("document.querySelector('#session-result').textContent") == "")
        try await window.evaluate("\(button).click()")
        _ = try await window.value(when: "document.querySelector('dialog.confirm')?.open")
        try await window.evaluate("document.querySelector('dialog.confirm [value=yes]').click()")
        let result = try await window.value(when: "document.querySelector('#session-result').textContent")
        #expect(result.stringValue?.hasSuffix("was asked to reconnect.") == true, "\(result)")
    }

    // MARK: Accessibility

    /// Breaks the rules, and expects them to notice.
    private func rulesFind(_ window: Browser.Window) async throws {
        try await window.evaluate(
            """
            document.querySelector('.screen').insertAdjacentHTML('beforeend', `<div id="wrong">
              <h4>Deep</h4><button></button><input placeholder="No label"><p id="nav">Twice</p>
              <a href="#/home" class="wrong">No outline</a><p class="pale">Pale</p></div>`);
            const sheet = new CSSStyleSheet();
            sheet.replaceSync('.wrong:focus { outline: none } .pale { color: #999; background: #aaa }');
            document.adoptedStyleSheets = [sheet];
            """)
        func found(_ rule: String) async throws -> String { try await window.evaluate(rule).description }
        let structure = try await found(PageRules.structure)
        for words in ["h4 after h", "no name: <button", "no visible label: <input", "twice: #nav"] {
            #expect(structure.contains(words), "\(words) \(structure)")
        }
        #expect(try await found(PageRules.contrast).contains(":1 p.pale: Pale"))
        try await window.evaluate(PageRules.watchFocus)
        try await window.evaluate("document.querySelector('.wrong').focus(); document.querySelector('.skip').focus();")
        try await window.evaluate("document.querySelector('#wrong button').focus()")
        try await window.evaluate("document.querySelector('nav a').focus()")
        let order = try await found(PageRules.focusOrder)
        for words in ["focus not visible: <a href=", "out of order: <a href=", "not reached: <input"] {
            #expect(order.contains(words), "\(words) \(order)")
        }
        try await window.evaluate("document.querySelector('#wrong').remove(); document.adoptedStyleSheets = []")
    }

    /// Presses Tab until the control has the focus.
    private func tab(_ window: Browser.Window, to selector: String) async throws {
        for _ in 0..<150 {
            if try await window.evaluate("document.activeElement.matches(`\(selector)`)") == true { return }
            try await window.press("Tab")
        }
        Issue.record("Tab does not reach \(selector)")
    }

    /// The main ways through the console without a mouse.
    private func keyboard(_ window: Browser.Window) async throws {
        try await window.evaluate("location.hash = '#/home'")
        _ = try await window.value(when: "document.querySelector('#screen-home')")
        try await tab(window, to: "nav a[href='#/why']")
        try await window.press("Enter")
        _ = try await window.value(when: "document.querySelector('[name=operation]')")
        #expect(try await window.evaluate("document.activeElement.id") == "main")
        try await tab(window, to: "[name=operation]")
        let wanted = "document.querySelector('[name=operation]').value == 'auctions/ListLots'"
        while try await window.evaluate(wanted) != true { try await window.press("ArrowDown") }
        try await tab(window, to: "[name=variables]")
        try await window.type(#"{"category": "Books"}"#, into: "[name=variables]")
        try await tab(window, to: "details[open] button")
        try await window.press("Enter")
        let code = "document.querySelector('#why-verdict')?.dataset.code"
        #expect(try await window.value(when: code) == "fresh")
        #expect(try await window.evaluate("document.querySelector('#why').ariaLive") == "polite")

        try await tab(window, to: "nav a[href='#/operations']")
        try await window.press("Enter")
        _ = try await window.value(when: "document.querySelector('#operation-list a')")
        try await tab(window, to: "#operation-list a[href$='ListLots']")
        try await window.press("Enter")
        let form = "document.querySelector('variable-form [name=category]')"
        _ = try await window.value(when: "location.hash.endsWith('ListLots') && \(form)")
        try await tab(window, to: "variable-form [name=category]")
        try await window.type("Books", into: "variable-form [name=category]")
        try await tab(window, to: "button[type=submit]")
        try await window.press("Enter")
        let state = "document.querySelector('#run-state').textContent"
        _ = try await window.value(when: "\(state).startsWith('Answered after')")
        try await tab(window, to: "#follow")
        try await window.press("Space")
        _ = try await window.value(when: "\(state).startsWith('Following: 1 result')")
        #expect(try await window.evaluate("document.activeElement.id") == "follow")
        try await window.press("Space")
        #expect(try await window.evaluate("document.querySelector('#run-state').role") == "status")
        #expect(try await window.evaluate("faults") == [])
    }

    /// New rows leave the focus on the control of the same row, and cells that are the same as they are.
    private func tableKeepsFocus(_ window: Browser.Window) async throws {
        let found = try await window.evaluate(
            """
            (async () => {
              const {table} = await import("/console/table.js");
              const {h} = await import("/console/dom.js");
              const button = text => h("button", {type: "button"}, text);
              const list = table({label: "Test", columns: [
                {name: "id", label: "Id", show: row => button("first " + row.id)}, {name: "count", label: "Count"},
                {name: "action", label: "Action", show: row => button(`${row.action} ${row.id}`)},
              ]});
              document.querySelector(".screen").append(list);
              const rows = (count, action, ids) => ids.map(id => ({id, count, action}));
              const found = [];
              const note = () => found.push(document.activeElement.textContent.slice(0, 20));
              list.rows = rows(1, "End", ["a", "b", "c"]);
              const chosen = list.querySelectorAll("tbody button")[3];
              chosen.focus();
              list.rows = rows(2, "End", ["0", "a", "b"]);
              found.push(document.activeElement === chosen, list.querySelectorAll("tr")[4].cells[1].textContent);
              list.rows = rows(2, "End", ["b", "a", "0"]);
              note();
              list.rows = rows(2, "Ended", ["b", "a", "0"]);
              note();
              list.rows = rows(2, "Ended", ["a"]);
              found.push(document.activeElement.className);
              list.querySelector("tbody button").focus();
              list.rows = [];
              found.push(document.activeElement.className, list.querySelector("tbody").textContent);
              list.remove();
              return found;
            })()
            """)
        #expect(found == [true, "2", "End b", "Ended b", "table", "table", "Nothing here."], "\(found)")
    }

    // MARK: Long lists

    /// Ten thousand live queries of one connection: few rows are in the page, a jump shows those of its place, a filter
    /// shows its own, and nothing keeps the page from answering for long.
    private func longList(_ window: Browser.Window, _ admin: ServerAddress, _ address: ServerAddress) async throws {
        let count = 10_000
        let subscriber = try await Subscriber.connect(address)
        for number in 0..<count {
            subscriber.subscribe("GetLot", ["id": .string(UUID().uuidString.lowercased())], id: "\(number)")
        }
        let path = "/admin/v1/live-queries?operation=auctions/GetLot&limit=1"
        try await waitFor("\(count) live queries") {
            try await Self.get(admin, path)["count"]?.intValue ?? 0 > count ? true : nil
        }
        // The time of tasks depends on the machine, and on what else it does: the same loop says how much.
        let slowdown =
            try await window.evaluate(
                """
                (() => {
                  window.tasks = [];
                  const note = list => tasks.push(...list.getEntries().map(entry => Math.round(entry.duration)));
                  new PerformanceObserver(note).observe({entryTypes: ["longtask"]});
                  const start = performance.now();
                  let sum = 0;
                  for (let index = 0; index < 2e7; index++) sum += index % 7;
                  return (performance.now() - start) / 40 + sum * 0;
                })()
                """
            ).doubleValue ?? 1
        try await window.evaluate("tasks.length = 0; location.hash = '#/live-queries'")
        let frame = "document.querySelector('#screen-live-queries .table')"
        let status = "document.querySelector('#screen-live-queries [role=status]')?.textContent"
        let rows = "\(frame)?.querySelectorAll('tbody tr:not(.gap)')"
        _ = try await window.value(when: "\(status)?.startsWith('10,000 shown of 10,00') && \(rows).length > 20")
        let nodesMax = try await window.evaluate(
            """
            (async () => {
              const frame = \(frame);
              let most = 0;
              for (let step = 0; step <= 60; step++) {
                frame.scrollTop = frame.scrollHeight * step / 60;
                await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
                most = Math.max(most, document.querySelectorAll("*").length);
              }
              return most;
            })()
            """)
        #expect(nodesMax.intValue ?? .max < 1_500)
        let total = try await window.evaluate("\(frame).querySelector('table').getAttribute('aria-rowcount')")
        #expect(total == .string("\(count + 1)"), "\(total)")
        let last = "\(frame).querySelector('tbody tr:nth-last-child(2)').getAttribute('aria-rowindex')"
        #expect(try await window.value(when: last) == total)
        // Sorts all, and finds one.
        try await window.evaluate("document.querySelector('th[data-name=runs] button').click()")
        let key = try #require(
            try await window.evaluate("\(frame).querySelector('tbody a').href.split('key=')[1]").stringValue)
        try await window.type(String(key.prefix(10)), into: "[name=key]")
        _ = try await window.value(when: "\(rows).length === 1")
        #expect(try await window.evaluate("\(frame).querySelector('tbody a').href.endsWith('\(key)')") == true)
        let tasks = try await window.evaluate("tasks")
        let limitMs = 200 * max(1, slowdown)
        // One that does keep the page from answering is seen.
        try await window.evaluate(
            "setTimeout(() => { const end = performance.now() + \(limitMs + 60); while (performance.now() < end); })")
        try await waitFor("a long task") {
            try await window.evaluate("tasks.some(ms => ms > \(limitMs))") == true ? true : nil
        }
        #expect(
            (tasks.arrayValue ?? []).allSatisfy { Double($0.intValue ?? 0) <= limitMs },
            "tasks of \(tasks) ms, at most \(limitMs), on a machine \(slowdown) times as slow as the one of reference")
        #expect(try await window.evaluate("faults") == [])
        subscriber.socket.close()
    }
}
