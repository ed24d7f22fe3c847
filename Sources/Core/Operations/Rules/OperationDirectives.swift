import GraphQLLanguage
import SchemaModel

/// Checks the directives of an operation and rejects those that are not supported there.
extension OperationScope {
    func checkDirectives() {
        for directive in operation.directives {
            let range = FileRange(range: directive.range, file: file)
            directive.checkArguments(in: file, &sink)
            switch directive.name.value {
            // Resolved elsewhere: by `resolveAuth`, `resolveRefresh` and `rootPolicy`.
            case "auth", "refresh", "check": continue
            case "retired":
                if operation.directives.all(named: "retired").count > 1 {
                    error(.unknownDirective, at: range, "@retired may be given only once")
                }
                checkRetired(directive, in: file)
            case "transaction":
                if operation.kind != .mutation {
                    error(.transaction, at: range, "@transaction is only allowed on mutations")
                } else if !directive.arguments.isEmpty {
                    error(.transaction, at: range, "@transaction takes no arguments")
                } else if operation.directives.all(named: "transaction").count > 1 {
                    error(.transaction, at: range, "@transaction may be given only once")
                }
            case "redact", "skip", "include":
                error(
                    .unknownDirective, at: range, "@\(directive.name.value) belongs on a field or a fragment",
                    help: nil)
            case "allow":
                error(.unknownDirective, at: range, "@allow belongs on a variable of a _Data type")
            default:
                error(
                    .unknownDirective, at: range, "unknown directive @\(directive.name.value)",
                    help: DidYouMean.help(
                        directive.name.value, among: ["auth", "refresh", "transaction", "check", "retired"]))
            }
        }
    }
}

extension Directive {
    /// Reports arguments given more than once (GraphQL specification §5.4.2).
    func checkArguments(in file: SourceFile, _ sink: inout DiagnosticSink) {
        var seen: Set<String> = []
        for argument in arguments where !seen.insert(argument.name.value).inserted {
            sink.report(
                .error, rule: .uniqueArgument, at: argument.name.range, in: file,
                "argument \"\(argument.name.value)\" is given more than once")
        }
    }
}
