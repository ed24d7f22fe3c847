import GraphQLLanguage

/// The signature of a schema directive. Source: docs/reference/sql-connect.md §5.2.
struct DirectiveShape {
    enum ArgumentKind {
        case string
        /// A single string such as `"id"` counts as `["id"]`.
        case stringList
        case int
        case oneOf([String])
        case listOf([String])
        /// Any constant.
        case any
    }

    let name: String
    let locations: Set<DirectiveLocation>
    let arguments: [(name: String, kind: ArgumentKind)]
    var isRepeatable = false

    static let all: [DirectiveShape] = [
        DirectiveShape(
            name: "table", locations: [.object],
            arguments: [("name", .string), ("singular", .string), ("plural", .string), ("key", .stringList)]),
        DirectiveShape(
            name: "view", locations: [.object],
            arguments: [("name", .string), ("sql", .string), ("singular", .string), ("plural", .string)]),
        DirectiveShape(name: "searchable", locations: [.fieldDefinition], arguments: [("language", .string)]),
        DirectiveShape(
            name: "col", locations: [.fieldDefinition],
            arguments: [("name", .string), ("dataType", .string), ("size", .int)]),
        DirectiveShape(
            name: "default", locations: [.fieldDefinition],
            arguments: [("value", .any), ("expr", .string), ("sql", .string)]),
        DirectiveShape(
            name: "ref", locations: [.fieldDefinition],
            arguments: [("fields", .stringList), ("references", .stringList), ("constraintName", .string)]),
        DirectiveShape(
            name: "unique", locations: [.fieldDefinition, .object],
            arguments: [("indexName", .string), ("fields", .stringList)], isRepeatable: true),
        DirectiveShape(
            name: "index", locations: [.fieldDefinition, .object],
            arguments: [
                ("name", .string), ("fields", .stringList), ("order", .listOf(["ASC", "DESC"])),
                ("type", .oneOf(["BTREE", "GIN", "HNSW", "IVFFLAT"])),
                ("vector_method", .oneOf(["L2", "COSINE", "INNER_PRODUCT"])),
            ], isRepeatable: true),
        // Informs readers only, like a description.
        DirectiveShape(
            name: "deprecated", locations: [.fieldDefinition, .enumValue], arguments: [("reason", .string)]),
    ]

    static func named(_ name: String) -> DirectiveShape? {
        all.first { $0.name == name }
    }

    /// Directives of SQL Connect that are not supported in schemas, with the reason.
    static let notOffered: [String: String] = [
        "embed": "set vectors in operations: f_embed: {model: \"…\", text: $text}"
    ]

    /// Directives that belong on operations.
    static let ofOperations: Set<String> = [
        "auth", "refresh", "transaction", "check", "redact", "allow", "retired", "skip", "include",
    ]
}

/// A directive whose name, location and arguments have been checked.
struct DirectiveUse {
    let name: String
    let range: FileRange
    private let arguments: [Argument]

    init(_ directive: Directive, keeping arguments: [Argument], in file: SourceFile) {
        name = directive.name.value
        // Excludes the arguments: marking a long directive would not help.
        range = FileRange(
            range: SourceRange(start: directive.range.start, end: directive.name.range.end), file: file)
        self.arguments = arguments
    }

    func value(_ argument: String) -> Value? { arguments.value(of: argument) }

    /// Returns the range of an argument's value, or that of the directive if the argument is absent.
    func range(of argument: String) -> FileRange {
        value(argument).map { FileRange(range: $0.range, file: range.file) } ?? range
    }

    func string(_ argument: String) -> String? { value(argument)?.stringValue }

    func enumeration(_ argument: String) -> String? { value(argument)?.enumValue }

    /// Returns the names in a list argument with their ranges; nil if absent.
    func names(_ argument: String) -> [Name]? {
        value(argument).map { value in
            (value.listValue ?? [value]).compactMap { item in item.stringValue.map { Name($0, range: item.range) } }
        }
    }

    func enumerations(_ argument: String) -> [String]? {
        value(argument).map { value in (value.listValue ?? [value]).compactMap(\.enumValue) }
    }
}

/// Checks directives against their signatures, reports problems, and drops what is invalid.
enum DirectiveChecker {
    /// - Parameter earlier: the directives of the definition that these extend.
    static func check(
        _ directives: [Directive], at location: DirectiveLocation, in file: SourceFile,
        after earlier: [DirectiveUse] = [],
        sink: inout DiagnosticSink
    ) -> [DirectiveUse] {
        var uses: [DirectiveUse] = []
        for directive in directives {
            let name = directive.name.value
            let range = SourceRange(start: directive.range.start, end: directive.name.range.end)
            guard let shape = DirectiveShape.named(name) else {
                reportUnknown(name, at: range, on: location, in: file, sink: &sink)
                continue
            }
            guard shape.locations.contains(location) else {
                sink.report(
                    .error, rule: .misplacedDirective, at: range, in: file,
                    "@\(name) is not allowed on \(location.words)",
                    help: "it belongs on \(shape.locations.map(\.words).sorted().joined(separator: " or "))")
                continue
            }
            if !shape.isRepeatable, (earlier + uses).contains(where: { $0.name == name }) {
                sink.report(
                    .error, rule: .repeatedDirective, at: range, in: file, "@\(name) is given more than once")
                continue
            }
            uses.append(
                DirectiveUse(directive, keeping: checkArguments(of: directive, shape, in: file, sink: &sink), in: file))
        }
        return uses
    }

    private static func reportUnknown(
        _ name: String, at range: SourceRange, on location: DirectiveLocation, in file: SourceFile,
        sink: inout DiagnosticSink
    ) {
        if let reason = DirectiveShape.notOffered[name] {
            sink.report(.error, rule: .directiveNotOffered, at: range, in: file, "@\(name): \(reason)")
        } else if DirectiveShape.ofOperations.contains(name) {
            sink.report(
                .error, rule: .misplacedDirective, at: range, in: file,
                "@\(name) belongs on operations in a connector, not in the schema")
        } else {
            let known = DirectiveShape.all.filter { $0.locations.contains(location) }.map(\.name)
            sink.report(
                .error, rule: .unknownDirective, at: range, in: file, "unknown directive @\(name)",
                help: DidYouMean.help(name, among: known))
        }
    }

    private static func checkArguments(
        of directive: Directive, _ shape: DirectiveShape, in file: SourceFile, sink: inout DiagnosticSink
    ) -> [Argument] {
        var kept: [Argument] = []
        for argument in directive.arguments {
            let name = argument.name.value
            guard let kind = shape.arguments.first(where: { $0.name == name })?.kind else {
                sink.report(
                    .error, rule: .unknownArgument, at: argument.name.range, in: file,
                    "@\(shape.name) has no argument \"\(name)\"",
                    help: DidYouMean.help(name, among: shape.arguments.map(\.name)))
                continue
            }
            if kept.contains(where: { $0.name.value == name }) {
                sink.report(
                    .error, rule: .repeatedArgument, at: argument.name.range, in: file,
                    "argument \"\(name)\" is given more than once")
                continue
            }
            // An explicit null is equivalent to omitting the argument, except for a default's value.
            if argument.value.isNull, shape.name != "default" { continue }
            if let problem = problem(of: argument.value, as: kind) {
                sink.report(
                    .error, rule: .argumentType, at: argument.value.range, in: file,
                    "argument \"\(name)\" of @\(shape.name) \(problem)")
                continue
            }
            kept.append(argument)
        }
        return kept
    }

    private static func problem(of value: Value, as kind: DirectiveShape.ArgumentKind) -> String? {
        switch kind {
        case .any: return nil
        case .string:
            return value.stringValue == nil ? "must be a string" : value.stringValue == "" ? "is empty" : nil
        case .int: return value.intValue == nil ? "must be an integer" : nil
        case .stringList:
            let items = value.listValue ?? [value]
            if items.isEmpty { return "is an empty list" }
            return items.allSatisfy { $0.stringValue?.isEmpty == false } ? nil : "must be a list of strings"
        case .oneOf(let names):
            return value.enumValue.map(names.contains) == true
                ? nil : "must be one of \(names.joined(separator: ", "))"
        case .listOf(let names):
            return (value.listValue ?? [value]).allSatisfy { $0.enumValue.map(names.contains) == true }
                ? nil : "must be a list of \(names.joined(separator: " or "))"
        }
    }
}

extension DirectiveLocation {
    fileprivate var words: String {
        switch self {
        case .object: "a type"
        case .fieldDefinition: "a field"
        case .enum: "an enum"
        case .enumValue: "an enum value"
        default: rawValue.lowercased()
        }
    }
}
