import Testing
@testable import SchemaModel

/// A mapping whose entries stand on lines of their own.
private func mapping(_ entries: (String, ConfigurationNode.Kind)...) -> ConfigurationNode {
    ConfigurationNode(
        .mapping(
            entries.enumerated().map { index, entry in
                ConfigurationNode.Entry(
                    key: ConfigurationNode(.scalar(entry.0), line: index + 1, column: 1),
                    value: ConfigurationNode(entry.1, line: index + 1, column: entry.0.count + 3))
            }), line: 1, column: 1)
}

private func list(_ items: String...) -> ConfigurationNode.Kind {
    .sequence(items.map { ConfigurationNode(.scalar($0), line: 1, column: 1) })
}

@Suite("dataconnect.yaml and connector.yaml")
struct ProjectConfigurationTests {
    private func service(_ node: ConfigurationNode) -> (ServiceConfiguration?, [String]) {
        var sink = DiagnosticSink()
        let configuration = ServiceConfiguration.read(
            node, in: SourceFile(path: "dataconnect.yaml", text: ""), sink: &sink)
        return (configuration, sink.diagnostics.map { "\($0.severity) \($0.rule)" })
    }

    @Test func configurationsAreReadWithoutForeignEntries() {
        let (configuration, problems) = service(
            mapping(
                ("specVersion", .scalar("v1")), ("serviceId", .scalar("novels")), ("location", .scalar("eu")),
                (
                    "schema",
                    mapping(("source", .scalar("./s")), ("datasource", mapping(("postgresql", .null)).kind)).kind
                ),
                ("connectorDirs", list("./a", "./b"))))
        #expect(problems.isEmpty)
        #expect(configuration?.serviceID == "novels" && configuration?.location == "eu")
        #expect(configuration?.schemaFolders.map(\.path) == ["./s"])
        #expect(configuration?.connectorFolders.map(\.path) == ["./a", "./b"])
    }

    @Test func absentEntriesHaveDefaults() {
        let (configuration, problems) = service(mapping(("serviceId", .scalar("novels"))))
        #expect(problems.isEmpty)
        #expect(configuration?.location == "local")
        #expect(configuration?.schemaFolders.map(\.path) == ["./schema"])
        #expect(configuration?.connectorFolders.isEmpty == true)
    }

    @Test func severalSchemasHaveSeveralFolders() {
        let schemas = ConfigurationNode.Kind.sequence([
            mapping(("id", .scalar("main")), ("source", .scalar("one"))), mapping(("source", .scalar("two"))),
        ])
        let (configuration, problems) = service(mapping(("serviceId", .scalar("m")), ("schemas", schemas)))
        #expect(problems.isEmpty && configuration?.schemaFolders.map(\.path) == ["one", "two"])
    }

    @Test func malformedEntriesAreRefused() {
        func problems(_ entries: (String, ConfigurationNode.Kind)...) -> [String] {
            let all = [("serviceId", ConfigurationNode.Kind.scalar("m"))] + entries
            return service(
                ConfigurationNode(
                    .mapping(
                        all.enumerated().map { index, entry in
                            ConfigurationNode.Entry(
                                key: ConfigurationNode(.scalar(entry.0), line: index + 1, column: 1),
                                value: ConfigurationNode(entry.1, line: index + 1, column: 1))
                        }), line: 1, column: 1)
            ).1
        }
        #expect(service(mapping(("location", .scalar("x")))).1 == ["error configuration-missing"])
        #expect(service(mapping(("serviceId", .scalar("a/b")))).1 == ["error configuration-identifier"])
        #expect(service(mapping(("serviceId", list("a")))).1 == ["error configuration-type"])
        #expect(service(ConfigurationNode(.scalar("x"), line: 1, column: 1)).1 == ["error configuration-type"])
        #expect(problems(("specVersion", .scalar("v9"))) == ["warning configuration-version"])
        #expect(problems(("conectorDirs", list("a"))) == ["warning configuration-unknown"])
        #expect(problems(("connectorDirs", list("a", "a"))) == ["error configuration-repeated"])
        #expect(problems(("connectorDirs", mapping(("a", .null)).kind)) == ["error configuration-type"])
        #expect(problems(("connectorDirs", .sequence([mapping()]))) == ["error configuration-type"])
        #expect(problems(("serviceId", .scalar("again"))) == ["error configuration-repeated"])
        #expect(
            problems(("schema", mapping().kind), ("schemas", .sequence([mapping()]))) == [
                "error configuration-repeated"
            ])
        #expect(
            problems(("schema", mapping(("datasource", mapping(("httpGraphql", mapping().kind)).kind)).kind))
                == ["error configuration-missing"])
        func resolver(_ entries: (String, ConfigurationNode.Kind)...) -> [String] {
            let graphQL = ConfigurationNode(
                .mapping(
                    entries.map { entry in
                        ConfigurationNode.Entry(
                            key: ConfigurationNode(.scalar(entry.0), line: 1, column: 1),
                            value: ConfigurationNode(entry.1, line: 1, column: 1))
                    }), line: 1, column: 1)
            return problems(
                ("schemas", .sequence([mapping(("datasource", mapping(("httpGraphql", graphQL.kind)).kind))])))
        }
        #expect(resolver(("uri", .scalar("http://localhost:1/x"))) == [])
        #expect(resolver(("uri", .scalar("https://h/x")), ("timeout", .scalar("1.5s"))) == [])
        #expect(resolver(("uri", .scalar("ftp://h/x"))) == ["error configuration-type"])
        #expect(resolver(("uri", .scalar("http://"))) == ["error configuration-type"])
        for timeout in ["0s", "601s", "soon", "-1s", "1h"] {
            #expect(
                resolver(("uri", .scalar("http://h")), ("timeout", .scalar(timeout))) == ["error configuration-type"])
        }
        #expect(problems(("schema", mapping(("sorce", .scalar("x"))).kind)) == ["warning configuration-unknown"])
    }

    @Test func connectorConfigurationsAreRead() {
        func read(_ node: ConfigurationNode) -> (String?, [String]) {
            var sink = DiagnosticSink()
            let configuration = ConnectorConfiguration.read(node, in: SourceFile(path: "c", text: ""), sink: &sink)
            return (configuration?.connectorID, sink.diagnostics.map(\.rule.rawValue))
        }
        let sound = read(
            mapping(
                ("connectorId", .scalar("novels")), ("generate", mapping(("swiftSdk", .null)).kind),
                ("authMode", .scalar("PUBLIC"))))
        #expect(sound.0 == "novels" && sound.1.isEmpty)
        #expect(read(mapping()).1 == ["configuration-missing"])
        #expect(read(mapping(("connectorId", .scalar("a b")))).1 == ["configuration-identifier"])
        #expect(read(ConfigurationNode(.null, line: 1, column: 1)).1 == ["configuration-type"])
    }

    @Test func aClientCacheOfAnySDKWantsIDs() {
        func wants(_ generate: ConfigurationNode) -> Bool? {
            var sink = DiagnosticSink()
            let root = mapping(("connectorId", .scalar("novels")), ("generate", generate.kind))
            let file = SourceFile(path: "c", text: "")
            return ConnectorConfiguration.read(root, in: file, sink: &sink)?.hasClientCache
        }
        let cache = mapping(("clientCache", mapping(("maxAge", .scalar("5s"))).kind))
        let none = mapping(("outputDir", .scalar("x")))
        #expect(wants(mapping(("swiftSdk", cache.kind))) == true)
        #expect(wants(mapping(("swiftSdk", none.kind), ("javascriptSdk", .sequence([none, cache])))) == true)
        #expect(wants(mapping(("swiftSdk", mapping(("clientCache", .null)).kind))) == true)
        #expect(wants(mapping(("swiftSdk", none.kind), ("kotlinSdk", .null))) == false)
        #expect(wants(mapping(("swiftSdk", mapping(("clientCache", .scalar("false"))).kind))) == false)
        #expect(wants(ConfigurationNode(.null, line: 1, column: 1)) == false)
    }
}
