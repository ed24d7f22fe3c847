import SchemaModel

extension Lint {
    /// `check-late`: warns about a field that exists only for its check and guards the fields after it, but not those
    /// before.
    mutating func checkOrder(_ subject: LintSubject) {
        guard let late = subject.operation.results.order.lateGuard else { return }
        warn(
            .checkLate, at: subject.range,
            "\"\(late.unguarded)\" is returned even if the check of \"\(late.responseKey)\""
                + " fails, because it comes first",
            help: "move \"\(late.responseKey)\" to the front if it should guard the whole result")
    }
}
