extension Lint {
    /// `check-late`: a field that is there for its check alone guards what stands after it, not what stands before.
    mutating func checkOrder(_ subject: LintSubject) {
        guard let late = subject.operation.results.order.lateGuard else { return }
        warn(
            "check-late", at: subject.place,
            "\"\(late.unguarded)\" is shown even when the check of \"\(late.responseKey)\" fails: it stands before it",
            help: "move \"\(late.responseKey)\" to the front, if it is to guard the whole result")
    }
}
