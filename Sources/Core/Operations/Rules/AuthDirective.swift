import CEL
import GraphQLLanguage
import SchemaModel

/// Resolves `@auth`: at most one, with exactly one of `level` and `expr`. Without it, clients may not run the
/// operation.
extension OperationScope {
    func resolveAuth() -> AuthRule? {
        let directives = operation.directives.all(named: "auth")
        if directives.count > 1 {
            error(.auth, at: FileRange(range: directives[1].range, file: file), "@auth may be given only once")
        }
        guard let directive = directives.first else { return rule(.noAccess, reason: nil) }
        let range = FileRange(range: directive.range, file: file)
        var level: GraphQLLanguage.Value?
        var text: GraphQLLanguage.Value?
        var reason: String?
        for argument in directive.arguments {
            switch argument.name.value {
            case "level": level = argument.value
            case "expr": text = argument.value
            case "insecureReason":
                reason = argument.value.stringValue
                if reason == nil {
                    error(
                        .auth, at: FileRange(range: argument.value.range, file: file),
                        "\"insecureReason\" must be a string")
                }
            default:
                error(
                    .unknownArgument, at: FileRange(range: argument.name.range, file: file),
                    "@auth has no argument \"\(argument.name.value)\"",
                    help: DidYouMean.help(argument.name.value, among: ["level", "expr", "insecureReason"]))
            }
        }
        switch (level, text) {
        case (let level?, nil): return resolve(level: level, reason)
        case (nil, let text?): return resolve(expression: text, reason)
        case (nil, nil), (.some, .some):
            error(.auth, at: range, "@auth takes exactly one of \"level\" and \"expr\"")
            return nil
        }
    }

    private func rule(_ level: AccessLevel, reason: String?) -> AuthRule? {
        guard let expression = try? ExpressionProgram(level.expression, expecting: .bool) else { return nil }
        return AuthRule(level: level, expression: expression, insecureReason: reason)
    }

    private func resolve(level value: GraphQLLanguage.Value, _ reason: String?) -> AuthRule? {
        guard let name = value.enumValue, let level = AccessLevel(rawValue: name) else {
            let written = value.enumValue ?? value.stringValue
            let names = AccessLevel.allCases.map(\.rawValue)
            error(
                .auth, at: FileRange(range: value.range, file: file),
                "expected an access level: \(names.joined(separator: ", "))",
                help: written.flatMap { text in
                    names.contains(text) ? "write it without quotes: \(text)" : DidYouMean.help(text, among: names)
                })
            return nil
        }
        return rule(level, reason: reason)
    }

    private func resolve(expression value: GraphQLLanguage.Value, _ reason: String?) -> AuthRule? {
        let range = FileRange(range: value.range, file: file)
        guard let text = value.stringValue else {
            error(.auth, at: range, "expected a string with a CEL expression")
            return nil
        }
        return expression(text, expecting: .bool, at: range, in: .auth).map {
            AuthRule(level: nil, expression: $0, insecureReason: reason)
        }
    }
}
