import LiveModel

extension Lint {
    /// `refresh-missing`: nothing refreshes the query, so its followers keep the first result.
    mutating func checkRules(_ subject: LintSubject) {
        let query = subject.operation
        guard !query.isRefreshed else { return }
        let writers = writers(of: query).map { "\"\($0.reference.operation)\"" }
        warn(
            "refresh-missing", at: subject.place,
            "nothing refreshes \"\(query.reference.operation)\": whoever follows it sees the first result only",
            help: writers.isEmpty
                ? "give it @refresh(every: …), or call it as a query only"
                : "@refresh(onMutationExecuted: …) could name \(writers.prefix(3).joined(separator: ", "))")
    }
}
