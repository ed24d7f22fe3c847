import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// The server audits of GraphQL over HTTP, each request and what must, should or may come back. None needs a stored
/// operation.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct HTTPAuditTests {
    private static let json = "application/json"
    private static let response = "application/graphql-response+json"

    private struct Audit {
        let name: String
        var method = HTTPMethod.POST
        var accept: String?
        var kind: String? = HTTPAuditTests.json
        /// The body of a POST, the query of a GET.
        let request: String
        /// The statuses that pass.
        let statuses: Range<Int>
        /// The media type that must come back.
        var answers: String?
        /// Whether the response must have `data`, or must not; nil: either.
        var hasData: Bool?
        /// Whether it asks for more than `__typename`, which nodes outside `freshet dev` do not answer.
        var introspects = false
    }

    private static func post(
        _ name: String, _ request: String, _ statuses: Range<Int>, accept: String? = nil, answers: String? = nil,
        hasData: Bool? = nil, introspects: Bool = false
    ) -> Audit {
        Audit(
            name: name, accept: accept, request: request, statuses: statuses, answers: answers, hasData: hasData,
            introspects: introspects)
    }

    private static func get(
        _ name: String, _ parameters: [String: String], _ statuses: Range<Int>, accept: String? = nil,
        introspects: Bool = false
    ) -> Audit {
        let query = parameters.sorted { $0.key < $1.key }
            .map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
        return Audit(
            name: name, method: .GET, accept: accept, kind: nil, request: query.joined(separator: "&"),
            statuses: statuses, introspects: introspects)
    }

    private static let ok = 200..<201
    private static let bad = 400..<401
    private static let typename = #"{"query":"{ __typename }"}"#

    private static var audits: [Audit] {
        var all = [
            post("accepts the response type", typename, ok, accept: response, answers: response, hasData: true),
            post("accepts JSON", typename, ok, accept: json, answers: json, hasData: true),
            post("*/* is JSON", typename, ok, accept: "*/*", answers: json, hasData: true),
            post("no accept is JSON", typename, ok, answers: json, hasData: true),
            Audit(
                name: "accepts utf-8", kind: "application/json; charset=utf-8", request: typename, statuses: ok,
                answers: json, hasData: true),
            get("accepts GET", ["query": "{ __typename }"], ok),
            get("no mutation by GET", ["query": "mutation { __typename }"], 405..<406),
            Audit(name: "no content type", kind: nil, request: typename, statuses: 400..<500),
            Audit(name: "another content type", kind: "text/plain", request: typename, statuses: 415..<416),
            post("body that is no JSON", #"{ "not a JSON"#, bad),
            post("body that is no request", #"{"qeury":"{ __typename }"}"#, bad),
            post("no body", "", bad),
            get("GET without a query", [:], bad),
            get(
                "variables in the query of a GET, response type",
                ["query": typeQuery, "variables": #"{"name":"sometype"}"#], ok, accept: response, introspects: true),
            get(
                "variables in the query of a GET, JSON",
                ["query": typeQuery, "variables": #"{"name":"sometype"}"#], ok, accept: json),
            post(
                "variables, response type", #"{"query":"\#(typeQuery)","variables":{"name":"sometype"}}"#, ok,
                accept: response, introspects: true),
            post(
                "variables, JSON", #"{"query":"\#(typeQuery)","variables":{"name":"sometype"}}"#, ok, accept: json),
        ]
        for value in [#"{"obj":"ect"}"#, "0", "false", #"["array"]"#, "null"] {
            all.append(post("query \(value)", #"{"query":\#(value)}"#, bad))
        }
        for value in [#"{"obj":"ect"}"#, "0", "false", #"["array"]"#] {
            all.append(
                post("operationName \(value)", #"{"query":"{ __typename }","operationName":\#(value)}"#, bad))
        }
        for value in [#""string""#, "0", "false", #"["array"]"#] {
            for name in ["variables", "extensions"] {
                all.append(post("\(name) \(value)", #"{"query":"{ __typename }","\#(name)":\#(value)}"#, bad))
            }
        }
        for accept in [json, response] {
            all.append(
                post("operationName", #"{"query":"query A { __typename }","operationName":"A"}"#, ok, accept: accept))
            all.append(
                post("extensions", #"{"query":"{ __typename }","extensions":{"some":"value"}}"#, ok, accept: accept))
            for name in ["variables", "operationName", "extensions"] {
                all.append(
                    post("\(name) null", #"{"query":"{ __typename }","\#(name)":null}"#, ok, accept: accept))
            }
            let statuses = accept == json ? ok : bad
            for (name, request) in [
                ("syntax", #"{"query":"{"}"#), ("validation", #"{"query":"{ 8f31403dfe404bccbb0e835f2629c6a7 }"}"#),
                ("a field that is none", #"{"query":"{ nothingOfTheKind }"}"#),
                ("coercion", #"{"query":"query C($id: ID!) { __typename }","variables":{"id":null}}"#),
            ] {
                all.append(
                    post("failed by \(name)", request, statuses, accept: accept, answers: accept, hasData: false))
            }
        }
        return all
    }

    private static let typeQuery = "query Type($name: String!) { __type(name: $name) { name } }"

    private static func run(_ audit: Audit, at address: ServerAddress) async throws {
        var headers = HTTPHeaders()
        if let accept = audit.accept { headers.add(name: "accept", value: accept) }
        if let kind = audit.kind { headers.add(name: "content-type", value: kind) }
        let isGet = audit.method == .GET
        let answer = try await HTTPCall.send(
            audit.method, address, path: "/graphql" + (isGet ? "?\(audit.request)" : ""), headers: headers,
            body: isGet ? [] : Array(audit.request.utf8))
        let comment = "\(audit.name), accept \(audit.accept ?? "-"): \(answer.status)"
        #expect(audit.statuses.contains(answer.status), "\(comment)")
        if let type = audit.answers {
            #expect(answer.headers.first(name: "content-type") == "\(type); charset=utf-8", "\(comment)")
        }
        if let hasData = audit.hasData {
            #expect((try JSONParser.parse(answer.body)["data"] != nil) == hasData, "\(comment)")
        }
    }

    @Test func nodesPassWithoutAStoredOperation() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api")
            for audit in Self.audits where !audit.introspects { try await Self.run(audit, at: node.address) }
        }
    }

    @Test func aDevelopersNodePassesAll() async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        var arguments = ["dev", SampleProject.path, "--no-seed", "--no-reload", "--no-generate"]
        for setting in ["http.port=0", "admin.port=0", "dev.dataDirectory=\(temporary.path)/data"] {
            arguments += ["--set", setting]
        }
        let node = try FreshetProcess(arguments)
        let line = try await node.line(containing: "Freshet serves")
        let address = try ServerAddress(String(line.split(separator: " ").last ?? ""))
        for audit in Self.audits { try await Self.run(audit, at: address) }
        node.signal(SIGINT)
        #expect(await node.waitForExit() == 0)
    }
}
