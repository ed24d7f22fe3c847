import GraphQLLanguage
import JSON
import LiveModel
import Testing
@testable import Catalog
@testable import SchemaModel
@testable import SchemaSDL

@Suite struct GraphQLSchemaTests {
    private static func schema(_ sdl: String = CatalogHarness.schema) throws -> GraphQLSchema {
        GraphQLSchema(try CatalogHarness.compile("query Q { __typename }", schema: sdl).schema)
    }

    @Test func fixedPartsAreGraphQL() {
        #expect(Prelude.definitions.count > 40)
        #expect(IntrospectionTypes.definitions.count > 15)
    }

    @Test func printsTheSameEachTimeAndParsesBack() throws {
        let text = try Self.schema().text
        #expect(try Self.schema().text == text)
        #expect(Printer.print(try Parser.parseDocument(Source(text: text))) == text)
    }

    @Test func everyDirectiveOfSchemasIsDefined() throws {
        let defined = Prelude.definitions.compactMap { definition in
            if case .directive(let node) = definition { node } else { nil }
        }
        for shape in DirectiveShape.all where shape.name != "deprecated" {
            let node = try #require(defined.first { $0.name.value == shape.name }, "\(shape.name)")
            #expect(node.arguments.map(\.name.value) == shape.arguments.map(\.name))
            #expect(Set(node.locations) == shape.locations)
            #expect(node.isRepeatable == shape.isRepeatable)
        }
    }

    @Test func everyTypeThatIsUsedIsDefinedOnce() throws {
        let further = """

            type Best @view(sql: "SELECT 1") { title: String }
            type Passage @table { embedding: Vector @col(size: 3) }
            """
        let document = try Self.schema(CatalogHarness.schema + further).document
        let defined = document.definitions.compactMap { definition -> String? in
            if case .directive = definition { nil } else { definition.name?.value }
        }
        #expect(Set(defined).count == defined.count)
        var used: Set<String> = []
        for definition in document.definitions {
            switch definition {
            case .object(let node):
                for field in node.fields {
                    used.insert(field.type.namedType)
                    used.formUnion(field.arguments.map(\.type.namedType))
                }
            case .inputObject(let node): used.formUnion(node.fields.map(\.type.namedType))
            case .directive(let node): used.formUnion(node.arguments.map(\.type.namedType))
            default: continue
            }
        }
        #expect(used.subtracting(defined) == ["String", "Int", "Float", "Boolean", "ID"])
    }

    @Test func aTableBecomesItsTypes() throws {
        let text = try Self.schema("type Novel @table { title: String! tags: [String!] }").text
        #expect(
            text.contains(
                """
                type Novel {
                  id: UUID!
                  title: String!
                  tags: [String!]
                  _metadata: _Metadata
                  _id: ID!
                  _count: Int!
                  id_count(distinct: Boolean = false): Int!
                  title_count(distinct: Boolean = false): Int!
                  title_min: String
                  title_max: String
                  tags_count(distinct: Boolean = false): Int!
                }

                "All fields of the key, as values; in a literal also by _expr, or by the key of a reference."
                input Novel_Key {
                  id: UUID
                  id_expr: UUID_Expr
                }

                "The fields of the key by name."
                scalar Novel_KeyOutput

                input Novel_Data {
                  id: UUID
                  id_expr: UUID_Expr
                  title: String
                  title_expr: String_Expr
                  tags: [String!]
                  tags_expr: String_ListExpr
                  tags_update: [String_ListUpdate!]
                }
                """), "\(text)")
    }

    @Test func vectorsAndWhatTheyAreMadeOf() throws {
        let text = try Self.schema("type Doc @table(key: \"no\") { no: Int! v: Vector @col(size: 3) }").text
        for part in [
            "  v: Vector\n  v_expr: Vector_Expr\n  v_embed: Vector_Embed\n",
            """
              docs_v_similarity(compare: Vector, compare_embed: Vector_Embed, \
            method: VectorSimilarityMethod = INNER_PRODUCT, within: Float, where: Doc_Filter, \
            limit: Int = 100): [Doc!]!\n
            """,
            "input Vector_Embed {\n  model: Vector_Embed_Model!\n",
        ] {
            #expect(text.contains(part), "\(text)")
        }
    }

    // MARK: Introspection

    private func ask(_ text: String, _ variables: JSONObject = [:]) throws -> String {
        let document = try Parser.parseDocument(Source(text: text))
        let operation = try #require(Introspection.operation(in: document, named: nil))
        let answer = try Introspection(try Self.schema()).answer(operation, in: document, variables: variables)
        return JSONValue.object(answer).description
    }

    @Test func introspectionAnswersQuestionsOfTypes() throws {
        #expect(
            try ask(#"{ __type(name: "Genre") { kind name enumValues { name isDeprecated } } }"#)
                == """
                {"__type":{"kind":"ENUM","name":"Genre","enumValues":[{"name":"NOIR","isDeprecated":false},\
                {"name":"FARCE","isDeprecated":false},{"name":"EPIC","isDeprecated":false}]}}
                """
        )
        #expect(
            try ask(
                """
                query Q($t: String!, $no: Boolean = false) {
                  a: __type(name: $t) { ...T fields @include(if: $no) { name } ... on __Field { name } }
                  none: __type(name: "Nothing") { name }
                }
                fragment T on __Type { inputFields { name type { kind ofType { name } } defaultValue } }
                """, ["t": "Seat_ListFilter"])
                    == """
                    {"a":{"inputFields":[{"name":"count","type":{"kind":"INPUT_OBJECT","ofType":null},\
                    "defaultValue":"{gt:0}"},{"name":"exist","type":{"kind":"INPUT_OBJECT","ofType":null},\
                    "defaultValue":null}]},"none":null}
                    """
        )
        #expect(
            try ask("{ __schema { queryType { name } mutationType { __typename } directives { name } } __typename }")
                .hasPrefix(
                    """
                    {"__schema":{"queryType":{"name":"Query"},"mutationType":{"__typename":"__Type"},\
                    "directives":[{"name":"auth"}
                    """
                ))
    }

    @Test(arguments: [
        "{ novels { title } }", "{ __schema { description } novels { title } }", "{ __typename }",
        "mutation { __schema { description } }", "query A { __schema { description } } query B { __typename }",
    ])
    func otherRequestsAreNone(text: String) throws {
        #expect(Introspection.operation(in: try Parser.parseDocument(Source(text: text)), named: nil) == nil)
    }

    @Test(arguments: [
        ("{ __schema { nothing } }", #""__Schema" has no field "nothing""#),
        ("{ __type { name } }", #""__type" needs the argument "name""#),
        ("{ __schema }", #""__schema" needs a selection"#),
        ("{ __schema { ...Nobody } }", #"unknown fragment "Nobody""#),
    ])
    func mistakesAreErrors(text: String, message: String) throws {
        let document = try Parser.parseDocument(Source(text: text))
        let operation = try #require(Introspection.operation(in: document, named: nil))
        let introspection = Introspection(try Self.schema())
        #expect(throws: RequestError(.badRequest, message)) {
            try introspection.answer(operation, in: document, variables: [:])
        }
    }

    /// Fragments that bring each other, and ones that double at every step.
    @Test func fragmentsEndWhateverTheyHold() throws {
        var text = "{ ...F0 __schema { description } } fragment L on Query { ...L } "
        for number in 0..<40 { text += "fragment F\(number) on Query { ...F\(number + 1) ...F\(number + 1) ...L } " }
        text += "fragment F40 on Query { __typename }"
        #expect(try ask(text) == #"{"__typename":"Query","__schema":{"description":null}}"#)
    }
}
