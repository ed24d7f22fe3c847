import Catalog
import CodeGeneration
import Foundation
import ProjectFolder
import SchemaModel
import TestSupport
import Testing

/// The project `Projects/gallery`, which uses every construct of the language, and the code generated from it.
enum Gallery {
    static let folder = Repository.path("Tests/Contract/CodeGenerationTests/Projects/gallery")

    /// The generated files by the last part of the output's path: `web`, `swift`, …
    static func outputs() throws -> [String: [GeneratedFile]] {
        let project = try ProjectFolder.load(folder)
        let describer = ConnectorDescriber(try Catalog.compile(project))
        var outputs: [String: [GeneratedFile]] = [:]
        for configuration in try ProjectFolder.connectors(folder) {
            var sink = DiagnosticSink()
            let requests = GenerationReader.read(
                configuration.generate, connectorID: configuration.id, in: configuration.file, sink: &sink)
            #expect(sink.diagnostics.isEmpty)
            let source = try #require(project.connectors.first { $0.id == configuration.id })
            let connector = try #require(describer.describe(source))
            for request in requests {
                let name = request.output.split(separator: "/").last.map(String.init) ?? ""
                outputs[name] = CodePrinter.files(for: request, connector)
            }
        }
        return outputs
    }

    /// Writes the files of all outputs into folders with their names.
    static func write(to folder: TemporaryFolder) throws {
        for (name, files) in try outputs() {
            try folder.write(
                Dictionary(files.map { ($0.path.isEmpty ? name : "\(name)/\($0.path)", $0.text) }) { first, _ in first }
            )
        }
    }
}

/// A program run to its end.
struct Run {
    let status: Int32
    /// Standard output and standard error, in order.
    let output: String

    /// - Throws: Foundation's error if the program cannot be started.
    init(_ program: String, _ arguments: [String], in folder: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        status = process.terminationStatus
        output = String(decoding: data, as: UTF8.self)
    }
}

/// One operation over a schema, described and printed.
struct Snippet {
    let connector: ConnectorDescription

    /// - Throws: `CatalogError` if it does not compile.
    init(schema: String, operations: String, connector id: String = "movies") throws {
        let source = ConnectorSource(
            id: id, files: [SourceFile(path: "operations.gql", text: operations)])
        let project = Project(
            serviceID: "service", location: "us-west2",
            schemaFiles: [SourceFile(path: "schema.gql", text: schema)], connectors: [source])
        connector = try #require(ConnectorDescriber(try Catalog.compile(project)).describe(source))
    }

    /// The files of an output, by path.
    func files(_ options: GenerationRequest.Options) -> [String: String] {
        let node = ConfigurationNode(.null, line: 1, column: 1)
        let file = SourceFile(path: "connector.yaml", text: "")
        let target: GenerationTarget =
            switch options {
            case .typescript: .typescript
            case .adminNode: .adminNode
            case .swift: .swift
            case .kotlin: .kotlin
            case .dart: .dart
            case .tools: .tools
            }
        let request = GenerationRequest(
            connectorID: connector.id, target: target, output: "out", options: options, node: node,
            file: file)
        return Dictionary(
            CodePrinter.files(for: request, connector).map { ($0.path, $0.text) },
            uniquingKeysWith: { first, _ in first })
    }

    var typeScript: String { files(.typescript(JavaScriptOptions(package: "movies")))["index.d.ts"] ?? "" }

    /// The body of an interface, with one blank between words: `movies: ({ id: UUIDString; } & Movie_Key)[];`.
    func interface(_ name: String) -> String? {
        let lines = typeScript.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(of: "export interface \(name) {"[...]),
            let end = lines[start...].firstIndex(of: "}")
        else { return nil }
        return lines[(start + 1)..<end].flatMap { $0.split(separator: " ") }.joined(separator: " ")
    }
}
