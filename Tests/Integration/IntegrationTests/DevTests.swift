import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// `freshet dev` as a new user runs it.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct DevTests {
    private func withFolder<T>(_ body: (String) async throws -> T) async throws -> T {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path + "/data"
        return try await body(folder)
    }

    private func start(_ folder: String, project: String = SampleProject.path, further: [String] = []) throws
        -> FreshetProcess
    {
        var arguments = ["dev", project]
        for setting in ["http.port=0", "admin.port=0", "dev.dataDirectory=\(folder)"] + further {
            arguments += ["--set", setting]
        }
        return try FreshetProcess(arguments)
    }

    private func address(_ process: FreshetProcess) async throws -> ServerAddress {
        let line = try await process.line(containing: "Freshet serves")
        return try ServerAddress(String(line.split(separator: " ").last ?? ""))
    }

    /// `freshet init` writes a project without advice, whose queries follow mutations and others who write.
    @Test func aNewProjectRefreshesByItself() async throws {
        try await withFolder { folder in
            let project = URL(fileURLWithPath: folder).deletingLastPathComponent().path + "/tasks"
            for (arguments, code) in [
                (["init", project], 0), (["init", project], 1), (["init", project + "2", "--service", "a b"], 1),
                (["check", project, "--warnings-as-errors"], 0),
            ] as [([String], Int32)] {
                let process = try FreshetProcess(arguments)
                #expect(await process.waitForExit() == code, "\(arguments): \(process.output)")
            }
            let node = try start(folder, project: project)
            let address = try await address(node)
            let subscriber = try await Subscriber.connect(address)
            subscriber.subscribe("Tasks", ["list": "home"])
            #expect(try await subscriber.data()["tasks"]?.arrayValue == [])
            let added = try await API.mutate(
                address, "AddTask", ["list": "home", "title": "Try Freshet"], connector: "tasks")
            #expect(added.status == 200, "\(added.body)")
            _ = try await subscriber.data { $0["tasks"]?[0]?["title"]?.stringValue == "Try Freshet" }
            let sql = try PostgresOperator(folder: folder + "/postgres")
            try sql.until("SELECT count(*) FROM pg_replication_slots WHERE active", is: "1")
            try sql.run("UPDATE task SET done = true")
            _ = try await subscriber.data { $0["tasks"]?[0]?["done"]?.boolValue == true }
            try await errorsShow(node, address, project)
            node.signal(SIGINT)
            #expect(await node.waitForExit() == 0, "\(node.output)")
        }
    }

    /// Errors in the project's files are on the page in the words of the terminal, and go once they are mended.
    private func errorsShow(_ node: FreshetProcess, _ address: ServerAddress, _ project: String) async throws {
        try await Browser.with(try Browser.required()) { browser in
            let window = try await browser.open("http://\(address.host):\(address.port)/")
            _ = try await window.value(when: "document.querySelector('variable-form')")
            #expect(try await window.evaluate("document.querySelector('#notice')") == .null)
            // An operation that does not compile, and a schema that does not.
            for (file, right, wrong, heading) in [
                ("connector/queries.gql", "{ id title done }", "{ id titel done }", "Not served, because of errors"),
                ("schema/schema.gql", "done: Boolean!", "done: Boolan!", "The last edit of the folder is not served"),
            ] {
                let text = try String(contentsOfFile: "\(project)/\(file)", encoding: .utf8)
                let edited = text.replacingOccurrences(of: right, with: wrong)
                try edited.write(toFile: "\(project)/\(file)", atomically: true, encoding: .utf8)
                let line = try await node.line(containing: "\(file):")
                let notice = "document.querySelector('#notice')?.textContent"
                let shown = try await window.value(when: "\(notice)?.includes('\(heading)') && \(notice)")
                // File, line, column and message, and the line of the file.
                let words = String(line[try #require(line.range(of: file)).lowerBound...])
                #expect(shown.stringValue?.contains(words) == true, "\(shown) \(words)")
                #expect(line.contains(": error: ") && shown.stringValue?.contains("^~~") == true, "\(shown)")
                #expect(try await window.evaluate(PageRules.structure) == [])
                #expect(try await window.evaluate(PageRules.contrast) == [])
                try text.write(toFile: "\(project)/\(file)", atomically: true, encoding: .utf8)
                _ = try await window.value(when: "!document.querySelector('#notice')")
            }
            #expect(try await window.evaluate("faults") == [])
        }
    }

    /// Processes whose command line names the folder.
    private func processes(of folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }.compactMap { id in
            guard let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline") else { return nil }
            let text = String(decoding: line, as: UTF8.self)
            return text.contains(folder) ? text : nil
        }
    }

    @Test func secondStartKeepsTheDataAndNoChildIsLeft() async throws {
        try await withFolder { folder in
            let first = try start(folder)
            let address = try await address(first)
            _ = try await first.line(containing: "Ctrl-C stops everything")
            #expect(first.output.contains("subscribe ListLots"))
            let page = try await HTTPCall.send(.GET, address, path: "/")
            #expect(page.status == 200)
            #expect(String(decoding: page.body, as: UTF8.self).contains("/console/main.js"))
            // Unsigned tokens count here, and only here.
            let list = try JSONParser.parse(try await API.get(address, "ListLots", ["category": "Toys"]).body)
            let id = try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
            let answer = try await API.mutate(
                address, "EditLot", ["id": .string(id), "category": "Toys", "description": "kept"])
            #expect(answer.status == 200)

            // A developer learns which constraint does not hold.
            let asked = try await API.mutate(
                address, "AskQuestion",
                ["lotId": "00000000-0000-4000-8000-000000000000", "name": "a", "text": "b"])
            #expect(
                asked.body["errors"]?[0]?["extensions"] == [
                    "code": "CONSTRAINT_VIOLATION", "table": "Question", "constraint": "question_lot_id_fkey",
                    "fields": ["lotId"],
                ], "\(asked)")

            // The same folder twice, while it is in use.
            let twice = try start(folder)
            #expect(await twice.waitForExit() == 1)
            #expect(twice.output.contains("error:"))

            first.signal(SIGINT)
            #expect(await first.waitForExit() == 0)
            #expect(try processes(of: folder) == [])

            let patient = ["cluster.leaseTtlMs=600000", "cluster.nodeTtlMs=600000"]
            let second = try start(folder, further: patient)
            let again = try await self.address(second)
            let lot = try JSONParser.parse(try await API.get(again, "GetLot", ["id": .string(id)]).body)
            #expect(lot["data"]?["lot"]?["description"]?.stringValue == "kept")
            // A crash takes the children along.
            let follower = try await Subscriber.connect(again)
            follower.subscribe("GetLot", ["id": .string(id)])
            _ = try await follower.data()
            await second.crash()
            while try !processes(of: folder).isEmpty { await Task.yield() }
            // The node has its leases again, which last longer than this test.
            let third = try start(folder, further: patient)
            let afterCrash = try await Subscriber.connect(try await self.address(third))
            afterCrash.subscribe("GetLot", ["id": .string(id)])
            _ = try await afterCrash.data()
            await third.crash()
        }
    }

    /// Any page that a developer visits can reach the port, and no token guards the administrator's routes.
    @Test func administratorRoutesAreClosedToPagesOfOtherSites() async throws {
        try await withFolder { folder in
            let dev = try start(folder)
            let address = try await address(dev)
            let path = "/v1/projects/p/locations/us-central1/services/auctions:executeGraphql"
            func call(_ headers: HTTPHeaders, _ method: HTTPMethod = .POST) async throws -> HTTPCall.Response {
                var all: HTTPHeaders = ["content-type": "application/json"]
                for (name, value) in headers { all.replaceOrAdd(name: name, value: value) }
                return try await HTTPCall.send(
                    method, address, path: path, headers: all, body: Array(#"{"query":"{ lots { id } }"}"#.utf8))
            }
            let here = "http://localhost:\(address.port)"
            let own = try await call(["origin": here])
            #expect(own.status == 200 && own.headers.contains(name: "access-control-allow-origin"))
            #expect(try await call([:]).status == 200)
            let foreign: [HTTPHeaders] = [
                ["origin": "https://evil.example"], ["origin": "null"], ["host": "evil.example"],
                ["host": "evil.example:\(address.port)", "origin": here],
            ]
            for headers in foreign {
                let answer = try await call(headers)
                #expect(answer.status == 403, "\(headers)")
                #expect(!String(decoding: answer.body, as: UTF8.self).contains("lots"))
            }
            #expect(try await call(["content-type": "text/plain"]).status == 415)
            let asking: HTTPHeaders = [
                "access-control-request-method": "POST", "access-control-request-headers": "content-type",
            ]
            for origin in ["https://evil.example", "null", "http://127.0.0.1.evil.example"] {
                var headers = asking
                headers.add(name: "origin", value: origin)
                let preflight = try await call(headers, .OPTIONS)
                let read = try await call(["origin": origin])
                for answer in [preflight, read] {
                    #expect(!answer.headers.contains(name: "access-control-allow-origin"), "\(origin)")
                }
            }
            // Paths that every client may call stay open to pages.
            let page = try await HTTPCall.send(
                .GET, address, path: "/v1/connectors/auctions/queries/ClosingSoon",
                headers: ["origin": "https://app.example"])
            #expect(page.status == 200 && page.headers.first(name: "access-control-allow-origin") == "*")
            dev.signal(SIGINT)
            #expect(await dev.waitForExit() == 0)
        }
    }

    @Test func privateServersThatEndAreStartedAgain() async throws {
        try await withFolder { folder in
            let dev = try start(folder)
            let address = try await address(dev)
            let list = try JSONParser.parse(try await API.get(address, "ListLots", ["category": "Toys"]).body)
            let id = try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
            let subscriber = try await Subscriber.connect(address)
            subscriber.subscribe("GetLot", ["id": .string(id)])
            func update(_ description: String) async throws {
                let answer = try await API.mutate(
                    address, "EditLot",
                    ["id": .string(id), "category": "Toys", "description": .string(description)])
                #expect(answer.status == 200, "\(answer.body)")
                _ = try await subscriber.data { $0["lot"]?["description"]?.stringValue == description }
            }
            try await update("before")
            for (name, file) in [("Postgres", "postmaster.pid"), ("Redis", nil)] {
                let victim = try #require(try server(in: folder, file))
                kill(victim, SIGKILL)
                #expect(try await dev.line(containing: "\(name) ended").contains("started again in 200 ms"))
                _ = try await dev.line(containing: "\(name) is back")
                let lot = try JSONParser.parse(
                    try await API.get(address, "GetLot", ["id": .string(id)]).body)
                #expect(lot["data"]?["lot"]?["description"]?.stringValue?.isEmpty == false)
                // The same session sees it.
                try await update("after the end of \(name)")
            }
            dev.signal(SIGINT)
            #expect(await dev.waitForExit() == 0)
            #expect(try processes(of: folder) == [])
        }
    }

    /// The number of Postgres' first process, from its file, or of Redis, by where it works.
    private func server(in folder: String, _ file: String?) throws -> Int32? {
        if let file {
            let found = FileManager.default.enumerator(atPath: folder)?.first {
                ($0 as? String)?.hasSuffix(file) == true
            }
            let text = try (found as? String).map { try String(contentsOfFile: folder + "/" + $0, encoding: .utf8) }
            return text?.split(separator: "\n").first.flatMap { Int32($0) }
        }
        return try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.first { id in
            let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/cwd")
            return place?.hasPrefix(folder + "/redis") == true
        }
    }

    @Test func mistakesGetOneClearLine() async throws {
        try await withFolder { folder in
            let missing = try start(folder, project: folder + "/nothing")
            #expect(await missing.waitForExit() == 1)
            #expect(missing.output.contains("no such folder"))

            let unknown = try start(folder, further: ["http.prt=1"])
            #expect(await unknown.waitForExit() == 1)
            #expect(unknown.output.contains("did you mean http.port?"))

            let listener = BusyPort.listener()
            defer { close(listener.descriptor) }
            let busy = try start(folder, further: ["http.port=\(listener.port)"])
            #expect(await busy.waitForExit() == 1)
            #expect(busy.output.contains("port \(listener.port) on 127.0.0.1 is in use"))
            let adminBusy = try start(folder, further: ["admin.port=\(listener.port)"])
            #expect(await adminBusy.waitForExit() == 1)
            #expect(adminBusy.output.contains("in use; stop the other program or use --set admin.port"))
            #expect(!adminBusy.output.contains("starting Postgres"))
        }
    }
}

/// A listening socket on a free loopback port.
enum BusyPort {
    static func listener() -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                _ = bind(descriptor, raw, length)
                _ = listen(descriptor, 1)
                return getsockname(descriptor, raw, &length)
            }
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
}
