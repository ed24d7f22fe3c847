import CodeGeneration
import ProjectFolder
import SchemaModel
import TestSupport
import Testing

/// `generate:` of `connector.yaml`: what is read, and the places of problems.
@Suite struct ConfigurationTests {
    private func read(_ generate: String) throws -> (requests: [GenerationRequest], problems: [String]) {
        let folder = try TemporaryFolder()
        try folder.write([
            "dataconnect.yaml": "serviceId: s\nlocation: l\nschema:\n  source: schema\nconnectorDirs: [c]\n",
            "schema/schema.gql": "type Movie @table { title: String! }\n",
            "c/connector.yaml": "connectorId: movies\ngenerate:\n" + generate,
            "c/q.gql": "query Q @auth(level: USER) { movies { id } }\n",
        ])
        let connector = try #require(try ProjectFolder.connectors(folder.path).first)
        var sink = DiagnosticSink()
        let requests = GenerationReader.read(
            connector.generate, connectorID: connector.id, in: connector.file, sink: &sink)
        return (requests, sink.diagnostics.map { "\($0.line):\($0.column) \($0.severity) \($0.message)" })
    }

    @Test func everyTargetIsRead() throws {
        let (requests, problems) = try read(
            """
              llmTools: {outputFile: t.json}
              javascriptSdk:
                outputDir: web
                package: "@a/b"
                packageJsonDir: app
                react: true
                angular: false
                clientCache: {maxAge: 1m30s, storage: memory, maxSize: 10}
              swiftSdk:
                - {outputDir: s1, package: A, flavor: firebase, observablePublisher: observableObject}
                - {outputDir: s2, package: B, sdk: ../x, clientCache: true}
              kotlinSdk: {outputDir: k, package: a.b.c}
              dartSdk: {outputDir: d, package: m/generated.dart, clientCache: false}
              adminNodeSdk: {outputDir: a, package: admin}

            """)
        #expect(problems == [])
        #expect(
            requests.map(\.name) == [
                "movies/javascriptSdk", "movies/swiftSdk", "movies/swiftSdk[1]", "movies/kotlinSdk", "movies/dartSdk",
                "movies/adminNodeSdk", "movies/llmTools",
            ])
        guard case .typescript(let web) = requests[0].options, case .swift(let first) = requests[1].options,
            case .swift(let second) = requests[2].options, case .dart(_, let cache) = requests[4].options
        else {
            Issue.record("the options are of other targets")
            return
        }
        #expect(web.hasReact && !web.hasAngular && web.packageJSONFolder == "app")
        #expect(web.cache == ClientCache(maxAgeMs: 90_000, storage: .memory))
        #expect(first.flavor == .firebase && first.publisher == .observableObject && first.cache == nil)
        #expect(second.flavor == .freshet && second.sdk == "../x" && second.cache == ClientCache())
        #expect(cache == nil)
    }

    @Test(arguments: [
        ("  swiftSdk: {package: A}", "3:13 error \"generate.swiftSdk.outputDir\" is missing"),
        (
            "  swiftSdk: {outputDir: s, package: a-b}",
            "3:37 error \"generate.swiftSdk.package\" is \"a-b\", but must be a name of letters, digits and _"
        ),
        (
            "  swiftSdk: {outputDir: s, package: A, flavor: other}",
            "3:48 error \"generate.swiftSdk.flavor\" is \"other\", allowed is freshet, firebase"
        ),
        (
            "  javascriptSdk: {outputDir: s, package: a, react: perhaps}",
            "3:52 error \"generate.javascriptSdk.react\" is \"perhaps\", allowed is true, false"
        ),
        (
            "  javascriptSdk: {outputDir: s, package: a, clientCache: {maxAge: soon}}",
            "3:67 error \"generate.javascriptSdk.clientCache.maxAge\" is \"soon\","
                + " but must be a duration such as 0, 30s or 1h30m"
        ),
        (
            "  kotlinSdk: {outputDir: k, package: 1a}",
            "3:38 error \"generate.kotlinSdk.package\" is \"1a\", but must be a package such as com.example.movies"
        ),
        ("  dartSdk: [1]", "3:13 error \"generate.dartSdk\" must be a mapping, but is a string"),
        ("  goSdk: {outputDir: g}", "3:3 warning unknown key \"generate.goSdk\""),
        ("  dartSdk: {outputDir: d, package: p, react: true}", "3:39 warning unknown key \"generate.dartSdk.react\""),
    ])
    func problemsHaveTheirPlace(_ generate: String, _ problem: String) throws {
        #expect(try read(generate + "\n").problems == [problem])
    }

    @Test(arguments: [
        ("0", 0), ("5", 5_000), ("5s", 5_000), ("1h30m", 5_400_000), ("500ms", 500), ("1.5s", 1_500),
        ("2d", 172_800_000),
    ])
    func durationsAreRead(_ text: String, _ ms: Int) throws {
        let (requests, problems) = try read(
            "  kotlinSdk: {outputDir: k, package: a, clientCache: {maxAge: \(text)}}\n")
        #expect(problems == [])
        guard case .kotlin(_, let cache) = try #require(requests.first).options else { return }
        #expect(cache?.maxAgeMs == ms)
    }
}
