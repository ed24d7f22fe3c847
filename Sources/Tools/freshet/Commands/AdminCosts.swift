import Admin
import ArgumentParser
import Foundation
import JSON
import Observability

/// Costs of rules and operations, in the words of the console.
extension AdminCommand {
    struct Rules: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows what each refresh rule caused, rules that never fired, and changes that none noticed.",
            discussion: """
                Since the workers' starts, the most wasted runs first. fired: runs of live queries that the rule \
                caused; a run that several rules caused counts for each. changed: those that found another result; \
                wasted: the same one. Many wasted runs call for a narrower condition. database: those runs' shares \
                of the time of their statements. Below the table, mutations that changed rows which a query reads \
                while no rule noticed, counted where refresh.yaml says `automatic: observe`, with the rule that \
                would have. --json has counts by operation and kind of cause, too.
                """)
        @OptionGroup var connection: Connection

        @Option(help: "Only rules of this query, CONNECTOR/OPERATION.")
        var operation: String?

        func run() async {
            let answer = await connection.get("/admin/v1/rules" + Connection.query([("node", connection.node)]))
            if connection.json { return Terminal.out(answer.description) }
            func isWanted(_ row: JSONValue) -> Bool { operation == nil || row["operation"]?.stringValue == operation }
            let rows = (answer["rules"]?.arrayValue ?? []).filter(isWanted)
            Terminal.out(
                TextTable(
                    columns: [
                        "operation",
                        .init("fired", "fired", .number) { $0["fired"] == 0 ? .yellow : nil },
                        .init("changed", "changed", .number), .init("wasted", "wasted", .number),
                        .init("wasted share", "wastedShare", .percent) {
                            ($0["wastedShare"]?.doubleValue ?? 0) > 0.5 ? .red : nil
                        }, .init("database", "databaseMs", .duration), "rule",
                    ], rows: rows
                ).text)
            let idle = Int64(rows.count { $0["fired"] == 0 })
            let counted = HumanUnits.duration(ms: answer["countedForMs"]?.doubleValue ?? 0)
            Terminal.out(
                "\(HumanUnits.plural(idle, "rule")) of \(rows.count) never fired; counted for \(counted) at least")
            for row in (answer["operations"]?.arrayValue ?? []).filter(isWanted) {
                for mutation in row["unnoticedMutations"]?.arrayValue ?? [] {
                    Terminal.out(
                        "\(row["operation"]?.stringValue ?? ""): \(mutation["mutation"]?.stringValue ?? "") unnoticed "
                            + "\(HumanUnits.plural(mutation["count"]?.intValue ?? 0, "time")); would have been by "
                            + "\(mutation["rule"]?.stringValue ?? "")")
                }
            }
            connection.tellOfUnreachable(answer)
        }
    }

    struct Top: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows what each operation costs, the most time first: live in a terminal, once in a pipe.",
            discussion: """
                Per minute, over the last minute; with --total since the nodes' starts. share: of the time of all \
                operations. database: the time of statements that run live queries; p50, p95, p99: of one such \
                statement, over the last five minutes, with --total since the nodes' starts. deliveries, bytes out: \
                results that sessions got, before compression.
                """)
        @OptionGroup var connection: Connection

        @Flag(help: "Since the nodes' starts instead of per minute.")
        var total = false

        @Flag(help: "Print once, also in a terminal.")
        var once = false

        @Option(help: "The most operations to list.")
        var limit = 20

        func run() async {
            let path = "/admin/v1/top" + Connection.query([("limit", "\(limit)"), ("node", connection.node)])
            guard !once, !connection.json, Terminal.isInteractive else {
                let answer = await connection.get(path)
                return connection.json ? Terminal.out(answer.description) : Self.show(answer, total: total)
            }
            let total = total
            await connection.watch(path) { answer in
                Terminal.clear()
                Self.show(answer, total: total)
            }
        }

        private static func show(_ answer: JSONValue, total: Bool) {
            Terminal.out(table(answer, total: total))
            Connection.tellOfUnreachable(answer)
        }

        private static func table(_ answer: JSONValue, total: Bool) -> String {
            let rows = (answer["operations"]?.arrayValue ?? []).map { row in
                var line = row[total ? "total" : "perMinute"]?.objectValue ?? [:]
                line["operation"] = row["operation"]
                line["share"] = row["share"]
                for name in ["p50", "p95", "p99"] {
                    line[name] = row[total ? "statementMs" : "recentStatementMs"]?[name]
                }
                return JSONValue.object(line)
            }
            let head =
                total ? "since the nodes' starts" : "per minute, over the last minute; p50 to p99 over five minutes"
            let columns: [TextTable.Column] = [
                "operation",
                .init("share", "share", .percent) { ($0["share"]?.doubleValue ?? 0) > 0.5 ? .yellow : nil },
                .init("runs", "runs", .number), .init("changed", "changed", .number),
                .init("database", "databaseMs", .duration), .init("p50", "p50", .duration),
                .init("p95", "p95", .duration), .init("p99", "p99", .duration), .init("requests", "requests", .number),
                .init("request time", "requestMs", .duration), .init("deliveries", "deliveries", .number),
                .init("bytes out", "bytesOut", .bytes),
            ]
            return head + "\n" + TextTable(columns: columns, rows: rows).text
        }
    }

    struct Capacity: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows unit costs of the busiest minute, and what a multiple of its load would need.")
        @OptionGroup var connection: Connection

        @Option(help: "The multiple of the load.")
        var factor = 10

        func run() async {
            let answer = await connection.get(
                "/admin/v1/capacity" + Connection.query([("factor", "\(factor)"), ("node", connection.node)]))
            if connection.json { return Terminal.out(answer.description) }
            func text(_ value: JSONValue?, _ form: (Double) -> String) -> JSONValue? {
                value?.doubleValue.map { .string(form($0)) }
            }
            let (measured, needed) = (answer["measured"], answer["needed"])
            let busiest = answer["busiestMinuteMs"]?.intValue
            head("Measured " + (busiest.map { "in the minute of \(UTCTime.text(epochMs: $0))" } ?? "since the starts"))
            Terminal.out(
                TextTable(facts: [
                    ("Sessions now", text(measured?["sessions"], HumanUnits.number)),
                    ("Deliveries", text(measured?["deliveries"], HumanUnits.number)),
                    ("Runs", text(measured?["runs"], HumanUnits.number)),
                    ("CPU per delivery", text(measured?["cpuMsPerDelivery"], HumanUnits.duration)),
                    ("Database time per run", text(measured?["databaseMsPerRun"], HumanUnits.duration)),
                    ("Time per request", text(measured?["requestMsPerRequest"], HumanUnits.duration)),
                    ("Memory per session, at most", text(measured?["bytesPerSession"], HumanUnits.bytes)),
                    ("Statements at once, mean", text(measured?["connectionsBusy"], HumanUnits.number)),
                    ("Connections to the database", text(measured?["connections"], HumanUnits.number)),
                    ("Database's share", text(measured?["databaseShare"], HumanUnits.percent)),
                ]).text)
            head("\n\(factor) times the load would need")
            Terminal.out(
                TextTable(facts: [
                    ("Nodes", text(needed?["nodes"], HumanUnits.number)),
                    ("Sessions", text(needed?["sessions"], HumanUnits.number)),
                    ("Statements at once, mean", text(needed?["connectionsBusy"], HumanUnits.number)),
                    ("Database's share", text(needed?["databaseShare"], HumanUnits.percent)),
                ]).text)
            Terminal.out("")
            Terminal.out(
                TextTable(
                    columns: [
                        "node", "roles", .init("cores", "cores", .number), .init("cores busy", "coresBusy", .number),
                        .init("peak memory", "peakBytes", .bytes), .init("sessions", "sessions", .number),
                        .init("such nodes needed", "nodesNeeded", .number) {
                            ($0["nodesNeeded"]?.doubleValue ?? 1) > 1 ? .yellow : .green
                        },
                    ], rows: answer["nodes"]?.arrayValue ?? []
                ).text)
            Terminal.out("")
            for line in answer["assumptions"]?.arrayValue ?? [] { Terminal.out(line.stringValue ?? "") }
            connection.tellOfUnreachable(answer)
        }

        private func head(_ text: String) { Terminal.out(Terminal.colored(text, .bold)) }
    }
}
