import GraphQLLanguage
package import LiveModel
import Operations
import SchemaModel

/// Texts that no connector has, for administrators.
extension Catalog {
    /// Of ad-hoc operations: no connector is called that, so no rule names one of them.
    package static let adHocConnector = ""
    /// Of one without a name.
    private static let unnamed = "AdHoc"

    /// Compiles an operation against the schema as one of a connector would be. `@auth` says nothing here: whoever asks
    /// may do everything.
    /// - Parameter name: nil: the only one in the text.
    /// - Throws: `.badRequest` with all problems of the text and their places; `.payloadTooLarge`.
    package func adHoc(_ text: String, name: String?) throws(RequestError) -> StoredOperation {
        guard text.utf8.count <= ParserLimits.request.bytesMax else {
            throw RequestError(.payloadTooLarge, "\"query\" is larger than \(ParserLimits.request.bytesMax) bytes")
        }
        let named = try Self.named(text, name)
        var sink = DiagnosticSink()
        let connector = ConnectorCompiler(
            api: GeneratedAPI(schema: schema), schemaText: [], options: CatalogOptions()
        ).compile(
            ConnectorSource(id: Self.adHocConnector, files: [SourceFile(path: "query", text: named.text)]), sink: &sink)
        let errors = sink.diagnostics.filter { $0.severity == .error }
        guard errors.isEmpty, let operation = connector.operations[named.name] else {
            let lines = errors.prefix(10).map { "\($0.message) (\($0.line):\($0.column))" }
            throw RequestError(.badRequest, lines.isEmpty ? "the text has no operation" : lines.joined(separator: "; "))
        }
        return operation
    }

    /// The text with a name for an operation that has none, and the name of the wanted one.
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
        // After the keyword; the short form has none.
        let keyword = bytes[only.range.start] == UInt8(ascii: "{") ? "" : only.kind.rawValue
        let insertion = (keyword.isEmpty ? "query " : " ") + unnamed + " "
        bytes.insert(contentsOf: insertion.utf8, at: only.range.start + keyword.utf8.count)
        return (String(decoding: bytes, as: UTF8.self), unnamed)
    }
}
