import LiveModel
import SchemaModel

extension Lint {
    /// `auth-missing`: warns about operations without @auth. No client may run them, though many authors expect the
    /// opposite.
    mutating func checkAuth(_ subject: LintSubject) {
        if subject.hasAuth { return }
        warn(
            .authMissing, at: subject.range,
            "\"\(subject.operation.reference.operation)\" has no @auth, so only administrators may run it",
            help: "add @auth(level: USER) or similar, or @auth(level: NO_ACCESS) if this is intended")
    }
}
