import FoundationEssentials
import SchemaModel
import TestSupport
import Testing
@testable import ProjectFolder

private func folder(of files: [String: String]) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write(files)
    return folder
}

private let sound = [
    "dataconnect.yaml": "serviceId: auctions\nlocation: eu\nconnectorDirs: [\"./one\", two/]\n",
    "schema/b.gql": "type B @table", "schema/a.graphql": "type A @table", "schema/deep/er/c.gql": "type C @table",
    "schema/.hidden/x.gql": "broken", "schema/readme.md": "not a schema",
    "one/connector.yaml": "connectorId: first\ngenerate:\n  swiftSdk: {outputDir: x}\n",
    "one/q.gql": "query Q { a { id } }",
    "two/connector.yaml": "connectorId: second\n", "two/m.gql": "", "seed.sql": "SELECT 1;",
]

@Suite("Reading a project folder")
struct ProjectFolderTests {
    private func problems(_ changes: [String: String?]) throws -> [String] {
        var files = sound
        for (name, text) in changes { files[name] = text }
        let folder = try folder(of: files)
        do throws(CatalogError) {
            return try ProjectFolder.load(folder.path).warnings.map {
                "\($0.severity) \($0.rule) \($0.line):\($0.column)"
            }
        } catch {
            return error.diagnostics.map { "\($0.severity) \($0.rule) \($0.line):\($0.column)" }
        }
    }

    @Test func foldersLoadWithAllTheirFiles() throws {
        let folder = try folder(of: sound)
        let project = try ProjectFolder.load(folder.path)
        #expect(project.serviceID == "auctions" && project.location == "eu" && project.seedSQL == "SELECT 1;")
        #expect(
            project.schemaFiles.map { String($0.path.dropFirst(folder.path.count)) } == [
                "/schema/a.graphql", "/schema/b.gql", "/schema/deep/er/c.gql",
            ])
        #expect(project.connectors.map(\.id) == ["first", "second"])
        #expect(project.connectors[1].files.map { String($0.path.dropFirst(folder.path.count)) } == ["/two/m.gql"])
        #expect(project.warnings.isEmpty)
    }

    @Test func automaticRefreshesAreRead() throws {
        func automatic(_ text: String) throws -> AutomaticRefresh {
            var files = sound
            files["refresh.yaml"] = text
            let folder = try folder(of: files)
            return try ProjectFolder.load(folder.path).automaticRefresh
        }
        let plain = try folder(of: sound)
        #expect(try ProjectFolder.load(plain.path).automaticRefresh == .off)
        #expect(try automatic("automatic: off\n") == .off)
        #expect(try automatic("\n  # automatic: all\n") == .off)
        let expected = AutomaticRefresh(
            mode: .lists, overrides: [.init(pattern: "first/Top*", mode: .all), .init(pattern: "*", mode: .off)])
        #expect(
            try automatic(
                """
                automatic: lists
                operations:
                  first/Top*: {automatic: all}
                  "*": {automatic: off}

                """) == expected)
    }

    @Test(arguments: [
        ("automatic: some\n", "error configuration-value 1:12"),
        ("automatic: [all]\n", "error configuration-type 1:12"),
        ("operations: all\n", "error configuration-type 1:13"),
        ("operations:\n  Top: {automatic: all}\n", "error configuration-value 2:3"),
        ("operations:\n  a/b: {automatic: most}\n", "error configuration-value 2:20"),
        ("operations:\n  a/b: all\n", "error configuration-type 2:8"),
        ("sometimes: 1\n", "warning configuration-unknown 1:1"),
    ])
    func problemsOfAutomaticRefreshesHavePositions(text: String, problem: String) throws {
        #expect(try problems(["refresh.yaml": text]) == [problem])
    }

    @Test func findsTheFolderBelow() throws {
        let folder = try folder(
            of: Dictionary(uniqueKeysWithValues: sound.map { ("dataconnect/" + $0.key, $0.value) }))
        #expect(try ProjectFolder.load(folder.path).serviceID == "auctions")
    }

    @Test func soundFolderHasNoProblems() throws {
        #expect(try problems([:]) == [])
    }

    @Test func problemsOfFoldersHavePositions() throws {
        #expect(try problems(["dataconnect.yaml": nil]) == ["error no-configuration 0:0"])
        #expect(try problems(["dataconnect.yaml": "serviceId: [a\n"]).first?.hasPrefix("error yaml 2:") == true)
        #expect(try problems(["dataconnect.yaml": ""]) == ["error yaml 0:0"])
        #expect(try problems(["dataconnect.yaml": "serviceId: a\nserviceId: b\n"]).count == 1)
        #expect(
            try problems(["dataconnect.yaml": "serviceId: m\nconnectorDirs: [./one, ./three]\n"]) == [
                "error no-folder 2:24"
            ])
        #expect(
            try problems(["dataconnect.yaml": "serviceId: m\nschema:\n  source: ./nowhere\n"]) == [
                "error no-folder 3:11"
            ])
        #expect(try problems(["two/connector.yaml": "connectorId: first\n"]) == ["error duplicate-connector 1:14"])
        #expect(try problems(["two/connector.yaml": nil]) == ["error no-configuration 0:0"])
        #expect(
            try problems(["two/connector.yaml": "conectorId: x\n"]) == [
                "error configuration-missing 1:1", "warning configuration-unknown 1:1",
            ])
        #expect(
            try problems(["schema/a.graphql": nil, "schema/b.gql": nil, "schema/deep/er/c.gql": nil]) == [
                "error no-schema-files 0:0"
            ])
    }

    @Test func doubtfulFoldersHaveWarnings() throws {
        #expect(
            try problems(["dataconnect.yaml": "serviceId: m\ncolour: red\nconnectorDirs: [one]\n"]) == [
                "warning configuration-unknown 2:1"
            ])
        #expect(try problems(["dataconnect.yaml": "serviceId: m\n"]) == ["warning no-connectors 0:0"])
        #expect(try problems(["two/m.gql": nil]) == ["warning no-operations 0:0"])
    }

    @Test func missingFoldersAreReported() throws {
        let error = #expect(throws: CatalogError.self) { try ProjectFolder.load("/nowhere/at/all") }
        #expect(error?.diagnostics.map(\.rule) == [.noFolder])
    }

    @Test func unreadableFilesAreReported() throws {
        let folder = try folder(of: sound)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/schema/gone.gql", withDestinationPath: folder.path + "/nowhere")
        let error = #expect(throws: CatalogError.self) { try ProjectFolder.load(folder.path) }
        #expect(error?.diagnostics.map { "\($0.severity) \($0.rule)" } == ["error unreadable"])
    }

    @Test func sizesAreBounded() throws {
        #expect(
            try problems(["schema/b.gql": String(repeating: "#", count: ProjectFolder.fileBytesMax + 1)])
                == ["error too-large 0:0"])
        let many = (0...ProjectFolder.filesMax).map { ("schema/many/\($0).gql", String?.some("")) }
        #expect(try problems(Dictionary(uniqueKeysWithValues: many)) == ["error too-many-files 0:0"])
    }

    @Test func deepNestingIsBounded() throws {
        let deep = (0..<20).map { "d\($0)" }.joined(separator: "/")
        #expect(try problems(["schema/\(deep)/x.gql": ""]) == ["error too-deep 0:0"])
        let nested = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
        #expect(try problems(["dataconnect.yaml": "serviceId: \(nested)\n"]) == ["error yaml 0:0"])
    }
}
