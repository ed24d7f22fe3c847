import ArgumentParser
import Foundation
import JSON
import NIOHTTP1
import ProtocolClients

struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin", abstract: "Reports on a running cluster and changes its overrides.",
        subcommands: [
            Shards.self, Nodes.self, LiveQueries.self, Rules.self, Sessions.self, Overrides.self, Status.self,
            Splits.self, Move.self, ClearMove.self, Drain.self, Undrain.self, EndSession.self, Revocations.self,
            Revoke.self, Unrevoke.self, Invalidate.self, Slot.self, Top.self, Capacity.self, Why.self, Trace.self,
            Tail.self, Events.self, TryRule.self, Flight.self, Plan.self, Deployments.self, Schema.self,
            Operations.self,
        ])

    struct Connection: ParsableArguments {
        @Option(help: "Admin endpoint of a node.")
        var url = ProcessInfo.processInfo.environment["FRESHET_ADMIN_URL"] ?? "http://127.0.0.1:9398"

        @Option(help: "Query this node instead, at the admin address that the node at --url reports for it.")
        var node: String?

        @Option(
            help: "Admin token or ID token. Also read from FRESHET_ADMIN_TOKEN and the file FRESHET_ADMIN_TOKEN_FILE."
        )
        var token: String?

        @OptionGroup var tls: TLSOptions

        @Flag(help: "Print the answer as JSON.")
        var json = false

        func get(_ path: String) async -> JSONValue { await call(.GET, path) }

        /// - Parameter body: parameters that may be longer than a request target.
        func post(_ path: String, _ body: [(String, String?)] = []) async -> JSONValue {
            await call(.POST, path, body)
        }

        /// Performs an action and prints its result.
        func act(_ path: String) async {
            let answer = await call(.POST, path)
            Terminal.out(json ? answer.description : answer["done"]?.stringValue ?? answer.description)
        }

        private func call(
            _ method: HTTPMethod, _ path: String, _ body: [(String, String?)] = []
        ) async -> JSONValue {
            await send(method, await base(), path, body)
        }

        /// The admin address of the node in question.
        private func base() async -> String {
            guard let node else { return url }
            let nodes = await send(.GET, url, "/admin/nodes")["nodes"]?.arrayValue ?? []
            guard let found = nodes.first(where: { $0["id"]?.stringValue == node }) else {
                let names = nodes.compactMap { $0["id"]?.stringValue }.joined(separator: ", ")
                Terminal.fail("there is no live node \"\(node)\"; there are \(names)")
            }
            guard let address = found["adminAddress"]?.stringValue, !address.isEmpty else {
                Terminal.fail("node \"\(node)\" does not have the role admin")
            }
            if url.hasPrefix("https:") {
                Terminal.fail(
                    "node \"\(node)\" would be asked at \(address) without TLS; name its own https address by --url")
            }
            let other = "http://" + address
            // A node on another machine may list a loopback address, which leads elsewhere from here.
            guard await send(.GET, other, "/admin/status")["node"]?.stringValue == node else {
                Terminal.fail(
                    "the admin address of \"\(node)\" (\(address)) leads to another node from here; "
                        + "pass its own address with --url")
            }
            return other
        }

        private func send(
            _ method: HTTPMethod, _ url: String, _ path: String, _ body: [(String, String?)] = []
        ) async -> JSONValue {
            // For the audit log: the operator's claimed name. Only the token grants access.
            var headers = [("x-freshet-operator", ProcessInfo.processInfo.environment["USER"] ?? "-")]
            if method == .POST { headers.append(("content-type", "application/json")) }
            if let token = token ?? Self.tokenOfEnvironment() {
                headers.append(("authorization", "Bearer \(token)"))
            }
            let members = body.compactMap { name, value in value.map { (name, JSONValue.string($0)) } }
            do {
                let response = try await HTTPCall.send(
                    method, try ServerAddress(url, trust: tls.trust), path: path, headers: .init(headers),
                    body: members.isEmpty ? [] : JSONWriter.compact(.object(JSONObject(members))))
                let value = try JSONParser.parse(response.body)
                guard response.status == 200 else {
                    Terminal.fail(value["errors"]?[0]?["message"]?.stringValue ?? "status \(response.status)")
                }
                return value
            } catch {
                Terminal.fail("\(url): \(error)")
            }
        }

        /// Follows a report, as it is now and whenever it differs.
        func watch(_ path: String, _ onReport: @escaping @Sendable (JSONValue) -> Void) async {
            await follow(path) { kind, data in
                guard let value = try? JSONParser.parse(Array(data.utf8)) else { return }
                if kind == "report" { return onReport(value) }
                Terminal.error(value["errors"]?[0]?["message"]?.stringValue ?? data)
            }
            Terminal.fail("\(url): the server ended the stream")
        }

        /// Follows an event stream.
        /// - Parameter onEvent: called for each event with its name and its data, one line.
        func follow(_ path: String, _ onEvent: @escaping @Sendable (String, String) -> Void) async {
            let name = LastName()
            let onLine: @Sendable (String) -> Void = { line in
                if line.hasPrefix("event: ") { name.set(String(line.dropFirst(7))) }
                if line.hasPrefix("data: ") { onEvent(name.value, String(line.dropFirst(6))) }
            }
            var headers = [("x-freshet-operator", ProcessInfo.processInfo.environment["USER"] ?? "-")]
            if let token = token ?? Self.tokenOfEnvironment() {
                headers.append(("authorization", "Bearer \(token)"))
            }
            do {
                let address = try await ServerAddress(await base(), trust: tls.trust)
                try await HTTPLines.follow(address, path: path, headers: .init(headers), onLine)
            } catch let error as ClientError where error.code == .refused {
                let answer = try? JSONParser.parse(Array(error.description.utf8))
                Terminal.fail(answer?["errors"]?[0]?["message"]?.stringValue ?? error.description)
            } catch {
                Terminal.fail("\(url): \(error)")
            }
        }

        private static func tokenOfEnvironment() -> String? {
            let environment = ProcessInfo.processInfo.environment
            if let token = environment["FRESHET_ADMIN_TOKEN"] { return token }
            guard let path = environment["FRESHET_ADMIN_TOKEN_FILE"], !path.isEmpty else { return nil }
            do {
                return try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .newlines)
            } catch {
                Terminal.fail("FRESHET_ADMIN_TOKEN_FILE: \(path) cannot be read")
            }
        }

        func show(_ path: String, rows: String, columns: [TextTable.Column]) async {
            let answer = await get(path)
            if json {
                Terminal.out(answer.description)
                return
            }
            Terminal.out(TextTable(columns: columns, rows: answer[rows]?.arrayValue ?? []).text)
        }
    }

    /// The name of the event whose data follows.
    private final class LastName: @unchecked Sendable {
        // Unchecked: only the connection's event loop uses it.
        private(set) var value = ""

        func set(_ name: String) { value = name }
    }

    struct Nodes: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists every live node of the cluster.")
        @OptionGroup var connection: Connection

        func run() async {
            await connection.show(
                "/admin/nodes", rows: "nodes",
                columns: [
                    .init("node", "id"), "roles", "address", .init("release", "version"), "project", "deployment",
                    .init("draining", "draining", .yesOrNo), .init("sessions", "sessions", .number),
                    .init("up", "upMs", .duration), .init("listed for", "expiresInMs", .duration),
                ])
        }
    }

}
