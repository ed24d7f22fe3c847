import ArgumentParser
import JSON

/// The stored operations that nodes serve, in the words of the console.
extension AdminCommand {
    struct Operations: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the operations that are served, or explains one: its rules, SQL, and what refreshes it.",
            discussion: "`freshet explain` says the same of a project's folder, without a server.")
        @OptionGroup var connection: Connection

        @Argument(help: "CONNECTOR/OPERATION; without it, the operations are listed.")
        var operation: String?

        func validate() throws {
            if let operation, operation.split(separator: "/").count != 2 {
                throw ValidationError("name it as CONNECTOR/OPERATION")
            }
        }

        func run() async {
            guard let operation else {
                return await connection.show(
                    "/admin/v1/operations", rows: "operations",
                    columns: ["operation", "kind", .init("access", "auth"), .init("refreshed by", "rules")])
            }
            let path = operation.split(separator: "/").map { AdminPath.part(String($0)) }.joined(separator: "/")
            let answer = await connection.get("/admin/v1/operations/\(path)")
            Terminal.out(connection.json ? answer.description : Self.text(answer))
        }

        private static func text(_ found: JSONValue) -> String {
            var lines: [String] = []
            func list(_ title: String, _ texts: [String]) {
                if !texts.isEmpty { lines += [Terminal.colored(title, .bold)] + texts + [""] }
            }
            list("Rules, and how events find their live queries", rows(found, "rules").map(rule))
            if let sql = found["sql"], sql != .null {
                list("SQL", [text(sql, "single")])
                list("SQL for many live queries", [text(sql, "multiplexed")].filter { !$0.isEmpty })
            }
            for step in rows(found, "steps") {
                list(text(step, "field"), [step["sql"]?.stringValue ?? "depends on the rows given"])
            }
            for (title, member) in [("Refreshed by", "refreshedBy"), ("Refreshes", "refreshes")] {
                list(title, rows(found, member).map { "\(name($0)): \(texts($0, "reasons").joined(separator: "; "))" })
            }
            list(
                "Not noticed",
                rows(found, "unnoticed").map { "\(name($0)) (\(texts($0, "tables").joined(separator: ", ")))" })
            return lines.dropLast().joined(separator: "\n")
        }

        private static let indexes = [
            "hash": "hash lookup", "none": "asks each live query", "all": "concerns all live queries",
        ]

        private static func rule(_ rule: JSONValue) -> String {
            let index = text(rule, "index")
            let condition = text(rule, "condition")
            let table = text(rule, "table")
            let what =
                switch text(rule, "rule") {
                case "implicit": "key of \(table)"
                case "timer": "every \(rule["everyMs"]?.intValue ?? 0) ms"
                case "automatic": table.isEmpty ? "changes of any row" : "changes of \(table)"
                default:
                    "onMutationExecuted \(text(rule, "mutation"))" + (condition.isEmpty ? "" : " when \(condition)")
                }
            return "\(what): \(indexes[index] ?? index)"
        }

        private static func name(_ other: JSONValue) -> String {
            "\(text(other, "connector"))/\(text(other, "operation"))"
        }

        private static func text(_ value: JSONValue, _ name: String) -> String { value[name]?.stringValue ?? "" }
        private static func rows(_ value: JSONValue, _ name: String) -> [JSONValue] { value[name]?.arrayValue ?? [] }

        private static func texts(_ value: JSONValue, _ name: String) -> [String] {
            rows(value, name).compactMap(\.stringValue)
        }
    }
}
