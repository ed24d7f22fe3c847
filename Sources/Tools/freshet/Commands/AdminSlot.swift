import ArgumentParser
import JSON

/// The command for the replication slot by which the database tells changes of rows.
extension AdminCommand {
    struct Slot: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows or drops the replication slot by which nodes read the database's log.",
            discussion: """
                health: ok; unreserved (the database is about to remove log that was not read); lost; missing. \
                silentMs: the time since the reader, process activePid, last answered. retainedBytes: log that the \
                database keeps for the slot. safeBytes: log that can be written before the slot may be lost; none \
                without limit. unpublished: tables that queries read and whose changes are not published. \
                tailer: the state of the queried node.
                """)
        @OptionGroup var connection: Connection

        @Flag(help: "Drop the slot with the publications, after a deployment without source: wal and both.")
        var drop = false

        func run() async {
            if drop { return await connection.act("/admin/slot/drop") }
            let answer = await connection.get("/admin/slot")
            if connection.json { return Terminal.out(answer.description) }
            var members = answer.objectValue ?? [:]
            members["publications"] = nil
            Terminal.out(TextTable(members: .object(members)).text)
            let publications = answer["publications"]?.arrayValue ?? []
            if publications.isEmpty { return Terminal.out("\nThere are no publications.") }
            Terminal.out("\n" + TextTable(columns: [.init("publication", "name"), "tables"], rows: publications).text)
        }
    }
}
