import GraphQLLanguage

/// The directives of the schema language with their arguments. Source: docs/reference/sql-connect.md §5.2.
struct DirectiveShape {
    enum ArgumentKind {
        case string
        /// `"id"` is taken as `["id"]`.
        case stringList
        case int
        case oneOf([String])
        case listOf([String])
        /// Any constant.
        case any
    }

    let name: String
    let places: Set<DirectiveLocation>
    let arguments: [(name: String, kind: ArgumentKind)]
    var isRepeatable = false

    static let all: [DirectiveShape] = [
        DirectiveShape(
            name: "table", places: [.object],
            arguments: [("name", .string), ("singular", .string), ("plural", .string), ("key", .stringList)]),
        DirectiveShape(
            name: "view", places: [.object],
            arguments: [("name", .string), ("sql", .string), ("singular", .string), ("plural", .string)]),
        DirectiveShape(name: "searchable", places: [.fieldDefinition], arguments: [("language", .string)]),
        DirectiveShape(
            name: "col", places: [.fieldDefinition],
            arguments: [("name", .string), ("dataType", .string), ("size", .int)]),
        DirectiveShape(
            name: "default", places: [.fieldDefinition],
            arguments: [("value", .any), ("expr", .string), ("sql", .string)]),
        DirectiveShape(
            name: "ref", places: [.fieldDefinition],
            arguments: [("fields", .stringList), ("references", .stringList), ("constraintName", .string)]),
        DirectiveShape(
            name: "unique", places: [.fieldDefinition, .object],
            arguments: [("indexName", .string), ("fields", .stringList)], isRepeatable: true),
        DirectiveShape(
            name: "index", places: [.fieldDefinition, .object],
            arguments: [
                ("name", .string), ("fields", .stringList), ("order", .listOf(["ASC", "DESC"])),
                ("type", .oneOf(["BTREE", "GIN", "HNSW", "IVFFLAT"])),
                ("vector_method", .oneOf(["L2", "COSINE", "INNER_PRODUCT"])),
            ], isRepeatable: true),
        // Says something to readers only, as a description does.
        DirectiveShape(
            name: "deprecated", places: [.fieldDefinition, .enumValue], arguments: [("reason", .string)]),
    ]

    static func named(_ name: String) -> DirectiveShape? {
        all.first { $0.name == name }
    }

    /// Directives of the language that this service does not offer in schemas, with the reason.
    static let notOffered: [String: String] = [
        "embed": "operations say of which text a vector is made: f_embed: {model: \"…\", text: $text}"
    ]

    /// Directives that belong to operations.
    static let ofOperations: Set<String> = [
        "auth", "refresh", "transaction", "check", "redact", "allow", "retired", "skip", "include",
    ]
}

/// A directive whose name, place and arguments have been checked.
struct DirectiveUse {
    let name: String
    let place: FileRange
    private let arguments: [Argument]

    init(_ directive: Directive, keeping arguments: [Argument], in file: SourceFile) {
        name = directive.name.value
        // Up to the name: the marks under a long directive help nobody.
        place = FileRange(
            range: SourceRange(start: directive.range.start, end: directive.name.range.end), file: file)
        self.arguments = arguments
    }

    func value(_ argument: String) -> Value? { arguments.value(of: argument) }

    /// Where to point for an argument: at its value, or at the directive when it is absent.
    func place(of argument: String) -> FileRange {
        value(argument).map { FileRange(range: $0.range, file: place.file) } ?? place
    }

    func string(_ argument: String) -> String? { value(argument)?.stringValue }

    func enumeration(_ argument: String) -> String? { value(argument)?.enumValue }

    /// The names of a list argument with their places; nil when absent.
    func names(_ argument: String) -> [Name]? {
        value(argument).map { value in
            (value.listValue ?? [value]).compactMap { item in item.stringValue.map { Name($0, range: item.range) } }
        }
    }

    func enumerations(_ argument: String) -> [String]? {
        value(argument).map { value in (value.listValue ?? [value]).compactMap(\.enumValue) }
    }
}

/// Checks directives against their shapes. What is wrong is reported and left out.
enum DirectiveChecker {
    /// - Parameter earlier: those of what the directives extend.
    static func check(
        _ directives: [Directive], at place: DirectiveLocation, in file: SourceFile, after earlier: [DirectiveUse] = [],
        sink: inout DiagnosticSink
    ) -> [DirectiveUse] {
        var uses: [DirectiveUse] = []
        for directive in directives {
            let name = directive.name.value
            let range = SourceRange(start: directive.range.start, end: directive.name.range.end)
            guard let shape = DirectiveShape.named(name) else {
                reportUnknown(name, at: range, place: place, in: file, sink: &sink)
                continue
            }
            guard shape.places.contains(place) else {
                sink.report(
                    .error, rule: "misplaced-directive", at: range, in: file,
                    "@\(name) cannot stand on \(place.words)",
                    help: "it belongs on \(shape.places.map(\.words).sorted().joined(separator: " or "))")
                continue
            }
            if !shape.isRepeatable, (earlier + uses).contains(where: { $0.name == name }) {
                sink.report(
                    .error, rule: "repeated-directive", at: range, in: file, "@\(name) is given more than once")
                continue
            }
            uses.append(
                DirectiveUse(directive, keeping: checkArguments(of: directive, shape, in: file, sink: &sink), in: file))
        }
        return uses
    }

    private static func reportUnknown(
        _ name: String, at range: SourceRange, place: DirectiveLocation, in file: SourceFile,
        sink: inout DiagnosticSink
    ) {
        if let reason = DirectiveShape.notOffered[name] {
            sink.report(.error, rule: "directive-not-offered", at: range, in: file, "@\(name): \(reason)")
        } else if DirectiveShape.ofOperations.contains(name) {
            sink.report(
                .error, rule: "misplaced-directive", at: range, in: file,
                "@\(name) belongs on operations of a connector, not in the schema")
        } else {
            let known = DirectiveShape.all.filter { $0.places.contains(place) }.map(\.name)
            sink.report(
                .error, rule: "unknown-directive", at: range, in: file, "unknown directive @\(name)",
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
                    .error, rule: "unknown-argument", at: argument.name.range, in: file,
                    "@\(shape.name) has no argument \"\(name)\"",
                    help: DidYouMean.help(name, among: shape.arguments.map(\.name)))
                continue
            }
            if kept.contains(where: { $0.name.value == name }) {
                sink.report(
                    .error, rule: "repeated-argument", at: argument.name.range, in: file,
                    "argument \"\(name)\" is given more than once")
                continue
            }
            // Explicit null is the same as leaving the argument out, but for a default's value.
            if argument.value.isNull, shape.name != "default" { continue }
            if let problem = problem(of: argument.value, as: kind) {
                sink.report(
                    .error, rule: "argument-type", at: argument.value.range, in: file,
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
