import LiveModel

extension Lint {
    static let everyOftenMs = 30_000

    /// `refresh-often`: a timer below 30 s, though the mutations that change what the query reads are known and none of
    /// it depends on the time. What only others write, and SQL whose tables are not known, does need a timer.
    mutating func checkTimer(_ subject: LintSubject) {
        let query = subject.operation
        guard let everyMs = query.refresh.everyMs, everyMs < Self.everyOftenMs, !query.readWriteSet.isPartial,
            !query.readWriteSet.readsTime
        else { return }
        let writers = writers(of: query)
        let written = writers.reduce(into: Set<String>()) { $0.formUnion($1.readWriteSet.tablesWritten) }
        guard query.readWriteSet.tablesRead.isSubset(of: written) else { return }
        let named = Set(query.refresh.triggers.map(\.mutation))
        let unnamed = writers.map(\.reference).filter { !named.contains($0) }.map { "\"\($0.operation)\"" }
        warn(
            "refresh-often", at: subject.place,
            "\"\(query.reference.operation)\" runs \(86_400_000 / everyMs) times a day for each live query",
            help: unnamed.isEmpty
                ? "its triggers name all mutations that write what it reads; the timer can be longer"
                : "@refresh(onMutationExecuted: …) of \(unnamed.prefix(4).joined(separator: ", "))"
                    + " shows changes at once and costs nothing in between")
    }
}
