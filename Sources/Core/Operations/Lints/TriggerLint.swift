import LiveModel
import SchemaModel

extension Lint {
    /// `refresh-too-broad`: warns about a trigger without a condition, which refreshes every live query of the
    /// operation, although the read-write sets of both operations determine which ones are affected.
    /// `refresh-unrelated`: warns about a trigger whose mutation writes nothing that the query reads.
    mutating func checkTriggers(_ subject: LintSubject) {
        let query = subject.operation
        for (trigger, range) in zip(query.refresh.triggers, subject.triggerRanges) {
            guard
                let mutation = (subjects + others).first(where: {
                    $0.operation.reference == trigger.mutation && $0.operation.kind == .mutation
                })?.operation
            else { continue }
            let name = mutation.reference.name(within: query.reference.connector)
            let (reads, writes) = (query.readWriteSet, mutation.readWriteSet)
            if !reads.isPartial, !writes.isPartial, reads.tablesChanged(by: writes).isEmpty {
                let part = reads.tablesRead.isDisjoint(with: writes.tablesWritten) ? "table" : "field"
                warn(
                    .refreshUnrelated, at: range,
                    "\"\(name)\" writes no \(part) that the query reads")
                continue
            }
            guard trigger.condition == nil,
                let condition = ReadWriteSet.condition(query: reads, mutation: writes)
            else { continue }
            warn(
                .refreshTooBroad, at: range,
                "every execution of \"\(name)\" refreshes all live queries of this operation",
                help: "only some are affected: add condition: \"\(condition)\"")
        }
    }
}
