import Admin
import ArgumentParser
import JSON

extension AdminCommand {
    struct Plan: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows Postgres' plan of a query: the rows it reads against the rows it keeps.",
            discussion: """
                The query is planned for the given variables and user, and not run. --analyze runs it once, in a \
                read-only transaction of at most 5 seconds, and shows rows and times as measured.
                """)
        @OptionGroup var connection: Connection

        @Argument(help: "CONNECTOR/OPERATION, or OPERATION where that is unique.")
        var operation: String

        @OptionGroup var subscriber: Subscriber

        @Flag(help: "Run the query once, and show what was measured.")
        var analyze = false

        func run() async {
            let items: [(String, String?)] = [("operation", operation)] + subscriber.items
            let answer =
                analyze
                ? await connection.post("/admin/v1/plan/analyze", items)
                : await connection.ask("/admin/v1/plan", items)
            if connection.json { return Terminal.out(answer.description) }
            for sentence in answer["sentences"]?.arrayValue ?? [] { Terminal.out(sentence.stringValue ?? "") }
            let scans = answer["scans"]?.arrayValue ?? []
            if !scans.isEmpty {
                Terminal.out("")
                Terminal.out(
                    TextTable(
                        columns: [
                            "table", .init("scan", "node"), "index", .init("rows read", "rowsRead", .number),
                            .init("rows kept", "rowsKept", .number) { $0["isWasteful"] == true ? .yellow : nil },
                            "filter",
                        ], rows: scans
                    ).text)
            }
            if let ms = answer["executionMs"]?.doubleValue { Terminal.out("\nIt took \(HumanUnits.duration(ms: ms)).") }
            Terminal.out("\n\(answer["plan"]?.description ?? "")")
        }
    }
}
