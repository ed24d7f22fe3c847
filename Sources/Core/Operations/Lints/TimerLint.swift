import LiveModel
import SchemaModel

extension Lint {
    /// `refresh-time`: warns about a query that changes of rows refresh although its result also changes without any.
    mutating func checkTime(_ subject: LintSubject) {
        let query = subject.operation
        guard subject.isAutomatic, query.readWriteSet.readsTime, query.refresh.everyMs == nil else { return }
        warn(
            .refreshTime, at: subject.range,
            "the result of \"\(query.reference.operation)\" changes as time passes, and only changes of rows refresh"
                + " it",
            help: "add @refresh(every: …)")
    }

    static let everyOftenMs = 30_000

    /// `refresh-often`: warns about a timer below 30 s although the mutations that change what the query reads are
    /// known and its result does not depend on time. Tables that only others write, and SQL whose tables are unknown,
    /// do need a timer.
    mutating func checkTimer(_ subject: LintSubject) {
        let query = subject.operation
        guard let everyMs = query.refresh.everyMs, everyMs < Self.everyOftenMs, !query.readWriteSet.isPartial,
            !query.readWriteSet.readsTime
        else { return }
        let writers = writers(of: query)
        let changes = writers.flatMap(\.readWriteSet.writes).filter { query.readWriteSet.isChanged(by: $0) }
        let written = Set(changes.map(\.table))
        guard query.readWriteSet.tablesRead.isSubset(of: written) else { return }
        let named = Set(query.refresh.triggers.map(\.mutation))
        let unnamed = writers.map(\.reference).filter { !named.contains($0) }.map {
            "\"\($0.name(within: query.reference.connector))\""
        }
        warn(
            .refreshOften, at: subject.range,
            "\"\(query.reference.operation)\" runs \(86_400_000 / everyMs) times a day per live query",
            help: unnamed.isEmpty
                ? "its triggers already cover all mutations that write what it reads, so the timer can be longer"
                : "@refresh(onMutationExecuted: …) of \(unnamed.prefix(4).joined(separator: ", "))"
                    + " refreshes immediately and costs nothing in between")
    }
}
