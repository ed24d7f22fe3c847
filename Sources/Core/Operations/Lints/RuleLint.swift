import LiveModel
import SchemaModel

extension Lint {
    /// `refresh-missing`: warns about a query that nothing refreshes, so that subscribers keep the first result.
    mutating func checkRules(_ subject: LintSubject) {
        let query = subject.operation
        // Nobody subscribes to what only administrators may run.
        guard !subject.isRefreshed, query.auth.level != .noAccess else { return }
        let writers = writers(of: query).map { "\"\($0.reference.name(within: query.reference.connector))\"" }
        warn(
            .refreshMissing, at: subject.range,
            "nothing refreshes \"\(query.reference.operation)\": subscribers only see the first result",
            help: writers.isEmpty
                ? "add @refresh(every: …) unless clients only query it once"
                : "@refresh(onMutationExecuted: …) could name \(writers.prefix(3).joined(separator: ", "));"
                    + " or write automatic: lists into refresh.yaml")
    }
}
