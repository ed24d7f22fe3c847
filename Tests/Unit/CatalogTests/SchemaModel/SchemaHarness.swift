import Testing
@testable import SchemaModel

/// Compiles SDL that must be sound.
func compileSchema(_ sdl: String, sourceLocation: SourceLocation = #_sourceLocation) -> Schema {
    var sink = DiagnosticSink()
    let schema = SchemaCompiler.compile(files: [SourceFile(path: "schema.gql", text: sdl)], sink: &sink)
    #expect(
        sink.diagnostics.isEmpty, "\(DiagnosticRenderer().render(sink.diagnostics))", sourceLocation: sourceLocation)
    return schema
}

/// The diagnostics of compiling the schema.
func schemaDiagnostics(_ sdl: String) -> [Diagnostic] {
    var sink = DiagnosticSink()
    _ = SchemaCompiler.compile(files: [SourceFile(path: "schema.gql", text: sdl)], sink: &sink)
    return sink.diagnostics
}

/// SDL with one place between `«` and `»`.
struct MarkedText {
    let text: String
    /// Line, column and length of the place; nil without marks.
    let place: (line: Int, column: Int, length: Int)?

    init(_ marked: String) {
        text = marked.filter { $0 != "«" && $0 != "»" }
        guard let start = marked.firstIndex(of: "«"), let end = marked.firstIndex(of: "»") else {
            place = nil
            return
        }
        let before = marked[..<start]
        let line = before.count { $0 == "\n" } + 1
        let column = before.unicodeScalars.reversed().prefix { $0 != "\n" }.count + 1
        place = (line, column, marked[start..<end].unicodeScalars.count - 1)
    }
}
