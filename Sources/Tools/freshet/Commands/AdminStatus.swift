import ArgumentParser
import Foundation
import JSON

extension AdminCommand {
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows the state of the cluster: one sentence, problems, nodes, replicas, slot, Redis.",
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
                    "failing": status?["worker"]?["failing"] ?? .null,
                    "outbox": status?["outbox"]?["rows"] ?? .null,
                    "outboxMs": status?["outbox"]?["oldestMs"] ?? .null,
                    "lagMs": status?["gateway"]?["lag"]?["endToEndMs"] ?? .null,
                    "undeliveredMs": status?["gateway"]?["lag"]?["undeliveredMs"] ?? .null,
                    "project": node["project"] ?? .null, "upMs": node["upMs"] ?? .null,
                ])
            }
            Terminal.out(
                TextTable(
                    columns: [
                        "node", "roles", .init("state", "state") { $0["state"] == "ready" ? .green : .red },
                        .init("sessions", "sessions", .number), .init("due", "due", .number),
                        .init("running", "running", .number),
                        .init("failing", "failing", .number) { ($0["failing"]?.intValue ?? 0) > 0 ? .red : nil },
                        .init("outbox", "outbox", .number),
                        .init("outbox age", "outboxMs", .duration), .init("lag", "lagMs", .duration),
                        .init("undelivered", "undeliveredMs", .duration), "project",
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
            Self.show(
                replicas,
                [
                    .init("replica", "address"), "worker",
                    .init("state", "state") { $0["isUsed"] == true ? .green : .yellow },
                    .init("lag", "lagBytes", .bytes),
                    .init("behind", "lagMs", .duration),
                ])
            let tailers = statuses.compactMap { status -> JSONValue? in
                guard var row = status["tailer"]?.objectValue, row["health"]?.stringValue != nil else { return nil }
                row["node"] = status["node"]
                return .object(row)
            }
            Self.show(
                tailers,
                [
                    "slot", "node", "state", "health", .init("log kept", "retainedBytes", .bytes),
                    .init("safe", "safeBytes", .bytes),
                ])
            Self.show(
                answer["redis"]?.arrayValue ?? [],
                [
                    .init("redis", "server"), .init("used", "usedBytes", .bytes), .init("of", "maxBytes", .bytes),
                    "policy", .init("survives a restart (appendonly)", "isLogged", .yesOrNo),
                ])
        }

        /// Prints a table after an empty line, unless it has no rows.
        private static func show(_ rows: [JSONValue], _ columns: [TextTable.Column]) {
            if rows.isEmpty { return }
            Terminal.out("")
            Terminal.out(TextTable(columns: columns, rows: rows).text)
        }

        private static func state(_ node: JSONValue, _ status: JSONValue?) -> String {
            if node["draining"] == true { return "draining" }
            guard let status else { return "no answer" }
            return status["ready"] == true ? "ready" : "not ready"
        }
    }
}
