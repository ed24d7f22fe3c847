import GraphQLLanguage
package import LiveModel
import Operations
import SchemaModel

/// Operations that administrators run without a connector.
extension Catalog {
    /// The connector id of ad-hoc operations. No connector has this id, so no rule names one of them.
    package static let adHocConnector = ""
    /// The name given to an operation without one.
    private static let unnamed = "AdHoc"

    /// Compiles an operation against the schema as if it belonged to a connector. `@auth` has no effect, because
    /// administrators may do everything.
    /// - Parameter name: the operation to run; nil if the text has only one.
    /// - Throws: `.badRequest` with the problems of the text and their places; `.payloadTooLarge`.
    package func adHoc(_ text: String, name: String?) throws(RequestError) -> StoredOperation {
        guard text.utf8.count <= ParserLimits.request.bytesMax else {
            throw RequestError(.payloadTooLarge, "\"query\" is larger than \(ParserLimits.request.bytesMax) bytes")
        }
        let named = try Self.named(text, name)
        var sink = DiagnosticSink()
        let compiler = ConnectorCompiler(
            api: GeneratedAPI(schema: schema), schemaText: [], options: CatalogOptions(), automaticRefresh: .off)
        let source = ConnectorSource(
            id: Self.adHocConnector, files: [SourceFile(path: "query", text: named.text)])
        let compiled = compiler.compile(compiler.parse(source, sink: &sink), sink: &sink)
        let connector = compiler.finish(compiled, among: [compiled], sink: &sink)
        let errors = sink.diagnostics.filter { $0.severity == .error }
        guard errors.isEmpty, let operation = connector.operations[named.name] else {
            let lines = errors.prefix(10).map { "\($0.message) (\($0.line):\($0.column))" }
            throw RequestError(.badRequest, lines.isEmpty ? "the text has no operation" : lines.joined(separator: "; "))
        }
        return operation
    }

    /// Returns the text, with a name inserted if its only operation has none, and the name of the requested operation.
    private static func named(_ text: String, _ name: String?) throws(RequestError) -> (text: String, name: String) {
        let document: Document
        do {
            document = try Parser.parseDocument(Source(name: "query", text: text), limits: .request)
        } catch {
            throw RequestError(.badRequest, "\"query\" is not GraphQL: \(error.message) (\(error.location))")
        }
        if let name {
            guard document.operations.contains(where: { $0.name?.value == name }) else {
                throw RequestError(.badRequest, "\"query\" has no operation \"\(name)\"")
            }
            return (text, name)
        }
        guard document.operations.count == 1, let only = document.operations.first else {
            throw RequestError(.badRequest, "\"query\" has several operations or none: name one as \"operationName\"")
        }
        if let name = only.name?.value { return (text, name) }
        var bytes = Array(text.utf8)
        // The name goes after the keyword, which the short form lacks.
        let keyword = bytes[only.range.start] == UInt8(ascii: "{") ? "" : only.kind.rawValue
        let insertion = (keyword.isEmpty ? "query " : " ") + unnamed + " "
        bytes.insert(contentsOf: insertion.utf8, at: only.range.start + keyword.utf8.count)
        return (String(decoding: bytes, as: UTF8.self), unnamed)
    }
}
