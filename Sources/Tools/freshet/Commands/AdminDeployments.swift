import Admin
import ArgumentParser
import Foundation
import JSON

extension AdminCommand {
    struct Deployments: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the versions of the project: since when, who serves them, what each changed.",
            discussion: """
                changes: operations added (+), removed (-) and changed (~) since the version before; breaking: changes \
                that would break clients, as `freshet deploy --dry-run` lists them. --changes lists them. \
                `freshet deploy --rollback` goes back.
                """)
        @OptionGroup var connection: Connection

        @Flag(help: "List what each version changed, and what clients notice of it.")
        var changes = false

        func run() async {
            let answer = await connection.get("/admin/v1/deployments")
            if connection.json { return Terminal.out(answer.description) }
            let deployments = answer["deployments"]?.arrayValue ?? []
            Terminal.out(
                TextTable(
                    columns: [
                        .init("id", "deployment"), "version",
                        .init("state", "standing") { $0["isCurrent"] == true ? .green : nil },
                        .init("since", "sinceMs", .time), "by", .init("sessions", "sessions", .number), "nodes",
                        "changes",
                        .init("breaking", "breaking", .number) {
                            ($0["breaking"]?.intValue ?? 0) > 0 ? .red : nil
                        },
                    ], rows: deployments.map(Self.row)
                ).text)
            if changes {
                for deployment in deployments { list(deployment) }
            }
            for problem in answer["problems"]?.arrayValue ?? [] {
                Terminal.out("\(problem["node"]?.stringValue ?? ""): \(problem["problem"]?.stringValue ?? "")")
            }
            if let rollback = answer["rollback"], rollback != .null {
                let breaking = rollback["changes"]?["breaking"]?.intValue
                Terminal.out(
                    "\(rollback["command"]?.stringValue ?? "") goes back to "
                        + "\((rollback["version"]?.stringValue ?? "").prefix(12))"
                        + (breaking.map { ": \(HumanUnits.plural($0, "change")) would break clients" } ?? ""))
            }
            connection.tellOfUnreachable(answer)
        }

        private static func row(_ deployment: JSONValue) -> JSONValue {
            var row = deployment.objectValue ?? [:]
            let isActive = row["activeAtMs"]?.intValue != nil
            row["sinceMs"] = isActive ? row["activeAtMs"] : row["createdAtMs"]
            if row["standing"]?.stringValue == nil { row["standing"] = row["isCurrent"] == true ? "current" : .null }
            guard let changes = deployment["changes"], changes != .null else { return .object(row) }
            row["breaking"] = changes["breaking"]
            let counts = [("+", "added"), ("-", "removed"), ("~", "changed")].compactMap { sign, name in
                changes[name]?.arrayValue.flatMap { $0.isEmpty ? nil : "\(sign)\($0.count)" }
            }
            row["changes"] = .string(counts.isEmpty ? "none" : counts.joined(separator: " "))
            return .object(row)
        }

        private func list(_ deployment: JSONValue) {
            guard let changes = deployment["changes"], changes != .null else { return }
            let version = (deployment["version"]?.stringValue ?? "").prefix(12)
            let former = (deployment["former"]?.stringValue ?? "").prefix(12)
            Terminal.out("\n" + Terminal.colored("\(version), after \(former)", .bold))
            for (sign, name) in [("+", "added"), ("-", "removed"), ("~", "changed")] {
                for operation in changes[name]?.arrayValue ?? [] {
                    Terminal.out("  \(sign) \(operation.stringValue ?? "")")
                }
            }
            for finding in changes["findings"]?.arrayValue ?? [] {
                let severity = finding["severity"]?.stringValue ?? ""
                Terminal.out(
                    "  \(Terminal.colored(severity, severity == "error" ? .red : .yellow)): "
                        + "\(finding["message"]?.stringValue ?? "") [\(finding["rule"]?.stringValue ?? "")]")
            }
        }
    }

    struct Schema: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the tables of the project that is served; --sdl prints its generated schema.")
        @OptionGroup var connection: Connection

        @Flag(help: "Print the generated schema as SDL, as `freshet schema print` does of a folder.")
        var sdl = false

        func run() async {
            let answer = await connection.get("/admin/v1/schema")
            if connection.json { return Terminal.out(answer.description) }
            if sdl {
                FileHandle.standardOutput.write(Data((answer["sdl"]?.stringValue ?? "").utf8))
                return
            }
            let rows = (answer["tables"]?.arrayValue ?? []).map { table -> JSONValue in
                var row = table.objectValue ?? [:]
                row["fields"] = .array(
                    (table["fields"]?.arrayValue ?? []).map {
                        .string("\($0["field"]?.stringValue ?? "") \($0["type"]?.stringValue ?? "")")
                    })
                return .object(row)
            }
            Terminal.out(TextTable(columns: ["type", "table", "key", "fields"], rows: rows).text)
        }
    }
}
