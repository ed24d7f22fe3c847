import Admin
import ArgumentParser
import JSON

/// The command for the replication slot by which the database tells changes of rows.
extension AdminCommand {
    struct Slot: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows or drops the replication slot by which nodes read the database's log.",
            discussion: """
                Health: ok; unreserved (the database is about to remove log that was not read); lost; missing. \
                Silent for: the time since the reader last answered. Safe to lose the reader for: log that can be \
                written before the slot may be lost. Unpublished: tables that queries read and whose changes are not \
                published. Reader: the state of the queried node.
                """)
        @OptionGroup var connection: Connection

        @Flag(help: "Drop the slot with the publications, after a deployment without source: wal and both.")
        var drop = false

        func run() async {
            if drop { return await connection.act("/admin/slot/drop") }
            let answer = await connection.get("/admin/slot")
            if connection.json { return Terminal.out(answer.description) }
            let slot = answer["slot"]
            func text(_ name: String, _ form: (Double) -> String) -> JSONValue? {
                slot?[name]?.doubleValue.map { .string(form($0)) }
            }
            Terminal.out(
                TextTable(facts: [
                    ("Node", answer["node"]), ("Reader", answer["tailer"]), ("Slot", slot?["name"]),
                    ("Exists", slot?["exists"]?.boolValue.map { $0 ? "yes" : "no" }),
                    ("Health", slot?["health"]), ("Process of the reader", slot?["activePid"]),
                    ("Silent for", text("silentMs", HumanUnits.duration)),
                    ("Log kept for it", text("retainedBytes", HumanUnits.bytes)),
                    ("Safe to lose the reader for", text("safeBytes", HumanUnits.bytes) ?? "no limit set"),
                    ("Confirmed", slot?["confirmed"]), ("Obstacle", answer["obstacle"]),
                    ("Unpublished", answer["unpublished"]?.arrayValue.flatMap { $0.isEmpty ? nil : .array($0) }),
                ]).text)
            let publications = answer["publications"]?.arrayValue ?? []
            if publications.isEmpty { return Terminal.out("\nThere are no publications.") }
            Terminal.out("\n" + TextTable(columns: [.init("publication", "name"), "tables"], rows: publications).text)
        }
    }
}
