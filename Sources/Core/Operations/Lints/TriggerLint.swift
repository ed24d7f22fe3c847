import LiveModel

extension Lint {
    /// `refresh-too-broad`: a trigger without a condition refreshes every live query of the operation at every execution
    /// of the mutation, though the texts of both tell which ones are meant. `refresh-unrelated`: a trigger names a
    /// mutation that writes nothing that the query reads.
    mutating func checkTriggers(_ subject: LintSubject) {
        let query = subject.operation
        for (trigger, place) in zip(query.refresh.triggers, subject.triggerPlaces) {
            guard
                let mutation = subjects.first(where: {
                    $0.operation.reference == trigger.mutation && $0.operation.kind == .mutation
                })?.operation
            else { continue }
            let tables = query.readWriteSet.tablesRead.intersection(mutation.readWriteSet.tablesWritten)
            if tables.isEmpty, !query.readWriteSet.isPartial, !mutation.readWriteSet.isPartial {
                warn(
                    "refresh-unrelated", at: place,
                    "\"\(mutation.reference.operation)\" writes no table that the query reads")
                continue
            }
            guard trigger.condition == nil,
                let condition = ReadWriteSet.condition(query: query.readWriteSet, mutation: mutation.readWriteSet)
            else { continue }
            warn(
                "refresh-too-broad", at: place,
                "every execution of \"\(mutation.reference.operation)\" refreshes every follower of the query",
                help: "only some are concerned: condition: \"\(condition)\"")
        }
    }
}
