internal import GraphQLLanguage

/// The rule about directives on operations: those offered in their place, all others refused by name.
extension OperationScope {
    func checkDirectives() {
        for directive in operation.directives {
            let place = Place(range: directive.range, file: file)
            switch directive.name.value {
            case "auth", "refresh": continue
            case "transaction":
                if operation.kind != .mutation {
                    error("transaction", at: place, "@transaction belongs to mutations")
                } else if !directive.arguments.isEmpty {
                    error("transaction", at: place, "@transaction takes no arguments")
                } else if operation.directives.all(named: "transaction").count > 1 {
                    error("transaction", at: place, "@transaction may be given once")
                }
            case "check", "redact", "retired":
                error("unknown-directive", at: place, "@\(directive.name.value) is not offered yet")
            default:
                error(
                    "unknown-directive", at: place, "unknown directive @\(directive.name.value)",
                    help: DidYouMean.help(directive.name.value, among: ["auth", "refresh", "transaction"]))
            }
        }
    }
}
