import Foundation
import JSON
import TestSupport
import Testing

/// A small project in one file: a schema, rows, and operations with their variables and results, in order.
///
/// Sections begin with a line `--- schema.gql`, `--- seed.sql`, `--- step [as UID] [VARIABLES]` or `--- result`. The
/// result is the JSON text of `data`, or `!` and the beginning of an error's message.
enum ProjectFile {
    struct Malformed: Error { let file: String }

    static let rows = rows(below: "Tests/Contract/LanguageTests/Projects")
    /// The projects that need pgvector.
    static let vectorRows = rows(below: "Tests/Contract/LanguageTests/VectorProjects")

    private static func rows(below folder: String) -> [SchemaRow] {
        do {
            return try Repository.files(below: folder, ending: ".project").map(row)
        } catch {
            Issue.record(error)
            return []
        }
    }

    private static func row(_ file: String) throws -> SchemaRow {
        var (sdl, sql) = ("", "")
        var steps: [SchemaRow.Step] = []
        var open: (operation: String, header: Substring)?
        for section in try Repository.text(file).components(separatedBy: "\n--- ").dropFirst() {
            let end = section.firstIndex(of: "\n") ?? section.endIndex
            let header = section[..<end]
            let text = section[end...].trimmingCharacters(in: .newlines)
            if header == "schema.gql" {
                sdl = text
            } else if header == "seed.sql" {
                sql = text
            } else if header.hasPrefix("step") {
                open = (text, header.dropFirst("step".count))
            } else if header == "result", let (operation, rest) = open {
                steps.append(step(operation, rest, text))
                open = nil
            } else {
                throw Malformed(file: file)
            }
        }
        guard !sdl.isEmpty, !steps.isEmpty, open == nil else { throw Malformed(file: file) }
        let name = file.split(separator: "/").last?.split(separator: ".").first.map(String.init) ?? file
        return SchemaRow(name, sdl: sdl, sql: sql, steps: steps)
    }

    private static func step(_ operation: String, _ header: Substring, _ result: String) -> SchemaRow.Step {
        var words = header.trimmingCharacters(in: .whitespaces)[...]
        var uid: String?
        if words.hasPrefix("as ") {
            let rest = words.dropFirst("as ".count)
            uid = String(rest.prefix { $0 != " " })
            words = rest.drop { $0 != " " }
        }
        let variables = words.trimmingCharacters(in: .whitespaces)
        return SchemaRow.Step(
            operation, variables.isEmpty ? "{}" : variables, auth: uid.map { signedIn($0) }, result)
    }
}
