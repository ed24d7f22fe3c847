import LiveModel

extension Lint {
    /// `auth-missing`: without @auth no client may run the operation, which is easily taken for the opposite.
    mutating func checkAuth(_ subject: LintSubject) {
        if subject.hasAuth { return }
        warn(
            "auth-missing", at: subject.place,
            "\"\(subject.operation.reference.operation)\" has no @auth: no client may run it, administrators only",
            help: "say who may, as in @auth(level: USER), or that this is meant: @auth(level: NO_ACCESS)")
    }
}
