import ArgumentParser
import Foundation
import JSON

extension AdminCommand {
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows the state of the cluster: one sentence, the problems, the nodes, the replicas.",
            discussion: "Exits with 1 if something is critical, so that scripts can ask.")
        @OptionGroup var connection: Connection

        func run() async {
            let answer = await connection.get("/admin/v1/overview")
            let isCritical = answer["level"]?.stringValue == "critical"
            defer { if isCritical { Foundation.exit(1) } }
            if connection.json { return Terminal.out(answer.description) }
            let colors: [String: Terminal.Color] = ["ok": .green, "warning": .yellow, "critical": .red]
            let color = colors[answer["level"]?.stringValue ?? ""]
            Terminal.out(Terminal.colored(answer["verdict"]?.stringValue ?? "", color))
            let problems = answer["problems"]?.arrayValue ?? []
            for problem in problems.dropFirst() {
                let color = colors[problem["severity"]?.stringValue ?? ""]
                Terminal.out("  " + Terminal.colored(problem["sentence"]?.stringValue ?? "", color))
            }
            Terminal.out("")
            let statuses = answer["statuses"]?.arrayValue ?? []
            let rows = (answer["nodes"]?.arrayValue ?? []).map { node in
                let status = statuses.first { $0["node"] == node["id"] }
                return JSONValue.object([
                    "node": node["id"] ?? .null, "roles": node["roles"] ?? .null,
                    "state": .string(Self.state(node, status)), "sessions": status?["sessions"] ?? .null,
                    "due": status?["worker"]?["due"] ?? .null, "running": status?["worker"]?["runsInFlight"] ?? .null,
                    "outbox": status?["outbox"]?["rows"] ?? .null,
                    "lagMs": status?["gateway"]?["lag"]?["endToEndMs"] ?? .null,
                    "undeliveredMs": status?["gateway"]?["lag"]?["undeliveredMs"] ?? .null,
                    "project": node["project"] ?? .null, "upMs": node["upMs"] ?? .null,
                ])
            }
            Terminal.out(
                TextTable(
                    columns: [
                        "node", "roles", .init("state", "state") { $0["state"] == "ready" ? .green : .red }, "sessions",
                        "due",
                        "running", "outbox",
                        .init("lag", "lagMs", .duration), .init("undelivered", "undeliveredMs", .duration), "project",
                        .init("up", "upMs", .duration),
                    ], rows: rows
                ).text)
            let replicas = statuses.flatMap { status in
                (status["replicas"]?.arrayValue ?? []).compactMap { replica -> JSONValue? in
                    guard var row = replica.objectValue else { return nil }
                    row["worker"] = status["node"]
                    return .object(row)
                }
            }
            if replicas.isEmpty { return }
            Terminal.out("")
            Terminal.out(
                TextTable(
                    columns: [
                        .init("replica", "address"), "worker",
                        .init("state", "state") { $0["isUsed"] == true ? .green : .yellow },
                        .init("lag", "lagBytes", .bytes),
                        .init("behind", "lagMs", .duration),
                    ], rows: replicas
                ).text)
        }

        private static func state(_ node: JSONValue, _ status: JSONValue?) -> String {
            if node["draining"] == true { return "draining" }
            guard let status else { return "no answer" }
            return status["ready"] == true ? "ready" : "not ready"
        }
    }
}
