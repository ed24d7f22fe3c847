import CodeGeneration
import Foundation
import TestSupport
import Testing

/// `freshet generate` as users run it.
@Suite struct CommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write([
            "app/dataconnect/dataconnect.yaml":
                "serviceId: s\nlocation: l\nschema:\n  source: schema\nconnectorDirs: [movies]\n",
            "app/dataconnect/schema/schema.gql": "type Movie @table { title: String! }\n",
            "app/dataconnect/movies/connector.yaml": """
            connectorId: movies
            generate:
              javascriptSdk: {outputDir: ../../web, package: "@app/movies", packageJsonDir: ../..}
              llmTools: {outputFile: ../../tools.json}

            """,
            "app/dataconnect/movies/queries.gql": "query ListMovies @auth(level: USER) { movies { id title } }\n",
            "app/package.json": "{\"dependencies\": {}}\n",
        ])
    }

    private func generate(_ arguments: String...) throws -> Run {
        try Run(Repository.freshet, ["generate"] + arguments, in: folder.path)
    }

    private func text(_ path: String) -> String? {
        try? String(contentsOfFile: "\(folder.path)/\(path)", encoding: .utf8)
    }

    private func write(_ path: String, _ text: String) throws { try folder.write([path: text]) }

    @Test func generatesWhatIsAskedForAndOnlyOnce() throws {
        let first = try generate("app")
        #expect(first.status == 0)
        #expect(first.output.contains("new      app/web/index.d.ts\n"))
        #expect(first.output.contains("new      app/tools.json\n"))
        #expect(first.output.contains("@app/movies is not installed: npm install --prefix app app/web"))
        #expect(text("app/web/index.d.ts")?.contains("export interface ListMoviesData") == true)
        let second = try generate("app")
        #expect(second.status == 0)
        #expect(second.output.contains("up to date: 2 outputs"))
        #expect(!second.output.contains("app/web/index.d.ts"))
    }

    @Test func writesOnlyFilesThatChange() throws {
        _ = try generate("app")
        let path = "\(folder.path)/app/web/package.json"
        let before = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber
        try write(
            "app/dataconnect/movies/queries.gql",
            "query ListMovies @auth(level: USER) { movies { id title } }\n"
                + "query Other @auth(level: USER) { movies { id } }\n"
        )
        let run = try generate("app")
        #expect(run.output.contains("changed  app/web/index.d.ts\n"))
        #expect(!run.output.contains("app/web/package.json"))
        let after = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber
        #expect(before == after)
    }

    @Test func targetsSelectOutputs() throws {
        let run = try generate("tools", "app")
        #expect(run.status == 0)
        #expect(text("app/tools.json") != nil && text("app/web/index.d.ts") == nil)
        let none = try generate("swift", "app")
        #expect(none.status == 0)
        #expect(none.output.contains("connector.yaml asks for no swift"))
    }

    @Test func checkFailsWhenSomethingWouldChange() throws {
        let first = try generate("--check", "app")
        #expect(first.status == 1)
        #expect(first.output.contains("would be new      app/web/index.d.ts"))
        #expect(text("app/web/index.d.ts") == nil)
        _ = try generate("app")
        #expect(try generate("--check", "app").status == 0)
    }

    @Test func foldersOfOthersAreNotOverwritten() throws {
        try write("app/web/index.d.ts", "mine\n")
        let run = try generate("app")
        #expect(run.status == 1)
        #expect(run.output.contains("refused: app/web/index.d.ts exists, but was not generated"))
        #expect(text("app/web/index.d.ts") == "mine\n")
        #expect(text("app/web/index.cjs.js") == nil)
        #expect(try generate("--force", "app").status == 0)
        #expect(text("app/web/index.d.ts") != "mine\n")
    }

    @Test func editedFilesAreNotOverwrittenAndOwnOnesAreRemoved() throws {
        _ = try generate("app")
        try write("app/web/mine.txt", "stays\n")
        try write("app/web/index.d.ts", "edited\n")
        try write("app/dataconnect/movies/queries.gql", "query Other @auth(level: USER) { movies { id } }\n")
        let refused = try generate("app")
        #expect(refused.status == 1)
        #expect(refused.output.contains("refused: app/web/index.d.ts was edited after it was generated"))
        try write(
            "app/dataconnect/movies/connector.yaml",
            "connectorId: movies\ngenerate:\n  javascriptSdk: {outputDir: ../../web, package: m, react: true}\n")
        #expect(try generate("--force", "app").status == 0)
        #expect(text("app/web/react/index.d.ts") != nil)
        try write(
            "app/dataconnect/movies/connector.yaml",
            "connectorId: movies\ngenerate:\n  javascriptSdk: {outputDir: ../../web, package: m}\n")
        let removed = try generate("app")
        #expect(removed.output.contains("removed  app/web/react/index.d.ts"))
        #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/app/web/react"))
        #expect(text("app/web/mine.txt") == "stays\n")
    }

    @Test func problemsOfConfigurationAndProjectAreReported() throws {
        try write(
            "app/dataconnect/movies/connector.yaml", "connectorId: movies\ngenerate:\n  swiftSdk: {outputDir: a}\n")
        let configuration = try generate("app")
        #expect(configuration.status == 1)
        #expect(configuration.output.contains("\"generate.swiftSdk.package\" is missing"))
        #expect(configuration.output.contains("connector.yaml:3:13"))
        try write(
            "app/dataconnect/movies/connector.yaml", "connectorId: movies\ngenerate:\n  llmTools: {outputFile: t}\n")
        try write("app/dataconnect/movies/queries.gql", "query ListMovies { films { id } }\n")
        let project = try generate("app")
        #expect(project.status == 1)
        #expect(project.output.contains("queries.gql:1"))
    }

    @Test func outputsInOneFolderMustNotHaveTheSameFiles() throws {
        try write(
            "app/dataconnect/movies/connector.yaml",
            """
            connectorId: movies
            generate:
              javascriptSdk: {outputDir: ../../web, package: m}
              adminNodeSdk: {outputDir: ../../web, package: n}

            """)
        let run = try generate("app")
        #expect(run.status == 1)
        #expect(run.output.contains("would both write"))
    }

    @Test func operationsWithOneNameInCodeAreRefused() throws {
        try write(
            "app/dataconnect/movies/queries.gql",
            "query getMovies @auth(level: USER) { movies { id } }\n"
                + "query GetMovies @auth(level: USER) { movies { id } }\n"
        )
        let run = try generate("app")
        #expect(run.status == 1)
        #expect(
            run.output.contains("the operations \"getMovies\" and \"GetMovies\" have the same name in generated code"))
    }

    /// A change of a project's file generates again, an error leaves the files as they were, and both signals end it.
    @Test(.timeLimit(.minutes(1)), arguments: [SIGINT, SIGTERM])
    func watchGeneratesAgainUntilASignal(signal: Int32) async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Repository.freshet)
        process.arguments = ["generate", "--watch", "app"]
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        try write("output", "")
        let output = try #require(FileHandle(forWritingAtPath: "\(folder.path)/output"))
        (process.standardOutput, process.standardError) = (output, output)
        try process.runWithSignals()
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        func looks(_ count: Int) async throws {
            try await waitUntil("look \(count) of \(text("output") ?? "")") {
                text("output")?.components(separatedBy: "watching app …").count == count + 1
            }
        }
        try await looks(1)
        #expect(text("output")?.contains("new      app/web/index.d.ts\n") == true)

        let operations = "app/dataconnect/movies/queries.gql"
        try write(operations, "query OtherMovies @auth(level: USER) { movies { id } }\n")
        try await looks(2)
        #expect(text("output")?.contains("changed  app/web/index.d.ts\n") == true)
        let generated = text("app/web/index.d.ts")
        #expect(generated?.contains("OtherMoviesData") == true && generated?.contains("ListMoviesData") == false)

        try write(operations, "query OtherMovies @auth(level: USER) { films { id } \n")
        try await looks(3)
        #expect(text("output")?.contains("queries.gql:") == true)
        #expect(text("app/web/index.d.ts") == generated)

        try write(operations, "query MoreMovies @auth(level: USER) { movies { id } }\n")
        try await looks(4)
        #expect(text("app/web/index.d.ts")?.contains("MoreMoviesData") == true)
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    }

    @Test func usageErrorsAreExplained() throws {
        #expect(try generate().status == 64)
        let unknown = try generate("ruby", "app")
        #expect(unknown.status == 64)
        #expect(unknown.output.contains("\"ruby\" is no target (typescript, swift, kotlin, dart, admin-node, tools)"))
        let help = try generate("--help")
        #expect(help.status == 0)
        #expect(help.output.contains("--watch") && help.output.contains("--check"))
    }
}
