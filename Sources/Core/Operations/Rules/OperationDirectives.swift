import GraphQLLanguage
import SchemaModel

/// The rule about directives on operations: those offered in their place, all others refused by name.
extension OperationScope {
    func checkDirectives() {
        for directive in operation.directives {
            let place = FileRange(range: directive.range, file: file)
            directive.checkArguments(in: file, &sink)
            switch directive.name.value {
            // Read where they belong: `resolveAuth`, `resolveRefresh`, `rootPolicy`.
            case "auth", "refresh", "check": continue
            case "retired":
                if operation.directives.all(named: "retired").count > 1 {
                    error("unknown-directive", at: place, "@retired may be given once")
                }
                checkRetired(directive, in: file)
            case "transaction":
                if operation.kind != .mutation {
                    error("transaction", at: place, "@transaction belongs to mutations")
                } else if !directive.arguments.isEmpty {
                    error("transaction", at: place, "@transaction takes no arguments")
                } else if operation.directives.all(named: "transaction").count > 1 {
                    error("transaction", at: place, "@transaction may be given once")
                }
            case "redact", "skip", "include":
                error(
                    "unknown-directive", at: place, "@\(directive.name.value) belongs on a field or a fragment",
                    help: nil)
            case "allow":
                error("unknown-directive", at: place, "@allow belongs on a variable of a _Data type")
            default:
                error(
                    "unknown-directive", at: place, "unknown directive @\(directive.name.value)",
                    help: DidYouMean.help(
                        directive.name.value, among: ["auth", "refresh", "transaction", "check", "retired"]))
            }
        }
    }
}

extension Directive {
    /// Each argument at most once (GraphQL specification §5.4.2).
    func checkArguments(in file: SourceFile, _ sink: inout DiagnosticSink) {
        var seen: Set<String> = []
        for argument in arguments where !seen.insert(argument.name.value).inserted {
            sink.report(
                .error, rule: "unique-argument", at: argument.name.range, in: file,
                "the argument \"\(argument.name.value)\" is given twice")
        }
    }
}
