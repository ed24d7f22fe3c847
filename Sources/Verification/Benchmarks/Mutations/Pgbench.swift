import Catalog
import Execution
import FoundationEssentials
import JSON
import LiveModel
import LocalServers
import Postgres
import QuerySQL
import Settings
import Sharding

/// pgbench with the SQL of the stored mutation and of its outbox row.
struct Pgbench {
    enum Form: String {
        case plain, withoutOutbox, pipelined
    }

    private let address: String
    private let folder: String
    private let clients: Int
    private let seconds: Int
    private let shards: String
    private let event: String

    init(_ servers: PrivateServers, clients: Int, seconds: Int) throws {
        address = servers.postgres.connectionString
        folder = servers.postgres.dataDirectory
        self.clients = clients
        self.seconds = seconds
        let operation = try servers.operation("EditLot")
        let id = "00000000-0000-4000-8000-000000000000"
        let variables = try operation.coerce([
            "id": .string(id), "category": "Hi-Fi", "description": "Description 1000",
        ])
        let canonicalID = variables["id"]?.stringValue
        let call = try operation.mutationCall(variables: variables, auth: nil, nowMs: 0, makeUUID: { id })
        let event = MutationEvent(
            id: id, operation: operation.reference, variables: variables, auth: .null,
            keysWritten: call.steps.flatMap(\.keysWritten), traceID: id, committedAtMs: 1_700_000_000_000)
        let shards = ShardRouting.shards(
            of: servers.catalog.queriesRefreshed(by: operation.reference),
            shardCount: Settings(profile: .dev).cluster.shardCount)
        self.shards = "{" + shards.map(\.description).joined(separator: ",") + "}"
        self.event = String(decoding: event.encoded, as: UTF8.self)

        var statements = try call.steps.map { step in
            try Self.filled(
                step.sql,
                step.parameters.map { parameter in
                    switch parameter {
                    case canonicalID: "md5('lot:' || :lot)"
                    case "Hi-Fi": "'Hi-Fi'"
                    case "Description 1000": "('Description ' || :number)"
                    default: throw BenchmarkFailure("unexpected parameter")
                    }
                })
        }
        let setting = "\\set lot random(1, 1000)\n\\set number random(1, 1000)\n"
        func body() -> String { (["BEGIN"] + statements + ["COMMIT"]).map { $0 + ";\n" }.joined() }
        try write(setting + body(), .withoutOutbox)
        let outbox = OutboxRow(event, shards: shards).insertion(into: .table)
        statements.append(try Self.filled(outbox.statement.sql, ["gen_random_uuid()", ":shards", ":event"]))
        try write(setting + body(), .plain)
        try write(setting + "\\startpipeline\n" + body() + "\\endpipeline\n", .pipelined)
    }

    /// Replaces `$1` … by values.
    private static func filled(_ sql: String, _ values: [String]) throws -> String {
        var text = ""
        var rest = Substring(sql)
        while let dollar = rest.firstIndex(of: "$") {
            text += rest[..<dollar]
            rest = rest[rest.index(after: dollar)...]
            let digits = rest.prefix { $0.isNumber }
            guard let number = Int(digits), (1...values.count).contains(number) else {
                throw BenchmarkFailure("unexpected statement")
            }
            text += values[number - 1]
            rest = rest[digits.endIndex...]
        }
        return text + rest
    }

    private func write(_ text: String, _ form: Form) throws {
        try text.write(toFile: path(form), atomically: false, encoding: .utf8)
    }

    private func path(_ form: Form) -> String { "\(folder)/\(form.rawValue).pgbench" }

    /// Runs pgbench.
    /// - Returns: the transactions per second.
    func run(_ form: Form) async throws -> Double {
        let arguments = [
            "-n", "-M", "prepared", "-c", "\(clients)", "-j", "2", "-T", "\(seconds)", "-D", "shards=\(shards)", "-D",
            "event=\(event)", "-f", path(form), address,
        ]
        let command = "pgbench " + arguments.map(Shell.quoted).joined(separator: " ") + " 2>&1"
        let output = await onThread { Shell.output(of: command) }
        let lines = output.split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("tps = ") }),
            let rate = line.dropFirst(6).split(separator: " ").first.flatMap({ Double($0) }), rate > 0
        else { throw BenchmarkFailure("pgbench failed: \(lines.last ?? "no output")") }
        return rate
    }
}
