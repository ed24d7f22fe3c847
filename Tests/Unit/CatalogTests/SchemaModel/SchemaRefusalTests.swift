import Testing
@testable import SchemaModel

/// One misuse, the rule and message that report it, and where: the marked place.
struct Refusal: Sendable, CustomTestStringConvertible {
    let rule: Diagnostic.Rule
    let sdl: String
    let message: String
    let help: String?

    init(_ rule: Diagnostic.Rule, _ sdl: String, _ message: String, help: String? = nil) {
        self.rule = rule
        self.sdl = sdl
        self.message = message
        self.help = help
    }

    var testDescription: String { "\(rule): \(message)" }
}

@Suite("Every misuse of the schema language is refused at its place")
struct SchemaRefusalTests {
    static let all =
        definitions + extensions + directives + fields + keys + references + defaults + constraints + names

    @Test(arguments: all)
    func everyMistakeIsReportedOnceAtItsText(_ refusal: Refusal) throws {
        let marked = MarkedText(refusal.sdl)
        let found = schemaDiagnostics(marked.text)
        let diagnostic = try #require(found.first, "nothing was reported")
        #expect(found.count == 1, "\(DiagnosticRenderer().render(found))")
        #expect(
            diagnostic.severity
                == ([.redundantUnique, .unknownDataType, .ignoredConstraint].contains(refusal.rule) ? .warning : .error)
        )
        #expect(diagnostic.rule == refusal.rule)
        #expect(diagnostic.message.contains(refusal.message), "\(diagnostic.message)")
        if let help = refusal.help {
            #expect(diagnostic.help?.contains(help) == true, "\(diagnostic.help ?? "no help")")
        }
        let place = try #require(marked.place, "the fixture has no mark")
        #expect(
            diagnostic.line == place.line && diagnostic.column == place.column,
            "at \(diagnostic.line):\(diagnostic.column)")
        #expect(diagnostic.length == place.length)
    }

    static let definitions = [
        Refusal(.syntax, "type A @table { a: «}»", "Expected"),
        Refusal(.definitionNotOffered, "type A @table { a: Int }\nscalar «Money»", "custom scalars"),
        Refusal(.definitionNotOffered, "type A @table { a: Int }\ninterface «I» { a: Int }", "interfaces"),
        Refusal(.definitionNotOffered, "type A implements «I» @table { a: Int }", "interfaces"),
        Refusal(.definitionNotOffered, "type A @table { a: Int }\nunion «U» = A", "unions"),
        Refusal(.definitionNotOffered, "type A @table { a: Int }\ninput «I» { a: Int }", "input types"),
        Refusal(
            .definitionNotOffered, "type A @table { a: Int }\ndirective @«d» on OBJECT", "directive definitions"),
        Refusal(.definitionNotOffered, "type A @table { a: Int }\n«schema { query: A }»", "`schema`"),
        Refusal(.definitionNotOffered, "type A @table { a: Int }\ntype «Query» { a: Int }", "custom resolvers"),
        Refusal(.operationInSchema, "type A @table { a: Int }\nquery «Q» { a }", "connector"),
        Refusal(.reservedName, "type «UUID» @table { a: Int }", "scalar"),
        Refusal(.reservedName, "type «_A» @table { a: Int }", "reserved"),
        Refusal(
            .duplicateType, "type A @table { a: Int }\ntype «A» @table { b: Int }", "more than once",
            help: "schema.gql:1"),
        Refusal(.duplicateEnumValue, "enum E { A B «A» }\ntype T @table { e: E }", "more than once"),
        Refusal(.emptyType, "enum «E»\ntype T @table { e: E }", "no values"),
        Refusal(
            .nameTooLong, "enum E { B «\(String(repeating: "A", count: 64))» }\ntype T @table { e: E }", "63 bytes"),
        Refusal(.missingTable, "type «A» { a: Int }", "no @table"),
    ]

    static let extensions = [
        Refusal(
            .unknownType, "type Novel @table { a: Int }\nextend type «Nove» { b: Int }", "\"Nove\" to extend",
            help: "\"Novel\""),
        Refusal(
            .unknownType, "type A @table { a: Int }\nextend type «Query» { b: Int }", "\"Query\" to extend",
            help: "custom resolvers"),
        Refusal(.extensionKind, "type A @table { a: Int }\nextend enum «A» { B }", "\"A\" is a type"),
        Refusal(
            .extensionKind, "enum E { A }\ntype T @table { e: E }\nextend type «E» { b: Int }", "\"E\" is an enum"),
        Refusal(.duplicateField, "extend type A { «a»: Int }\ntype A @table { a: Int }", "more than once"),
        Refusal(
            .duplicateField, "type A @table { n: Int }\nextend type A { a: Int }\nextend type A { «a»: Int }",
            "more than once"),
        Refusal(
            .repeatedDirective, "type A @table { a: Int }\nextend type A «@table»(name: \"b\")", "more than once"),
        Refusal(.view, "type A @table { a: Int }\nextend type A «@view»", "not both"),
        Refusal(
            .unknownField, "type A @table { title: Int }\nextend type A @index(fields: [«\"titel\"»])", "\"titel\"",
            help: "\"title\""),
        Refusal(.unknownType, "type A @table { a: Int }\nextend type A { b: «Strin» }", "\"Strin\""),
        Refusal(.definitionNotOffered, "type A @table { a: Int }\nextend type A implements «I»", "interfaces"),
        Refusal(
            .definitionNotOffered, "type A @table { a: Int }\nextend scalar «UUID» @deprecated", "custom scalars"),
        Refusal(
            .duplicateEnumValue, "enum E { A }\ntype T @table { e: E }\nextend enum E { «A» }", "more than once"),
        Refusal(.reservedName, "type «_A» @table { a: Int }\nextend type _A { b: Int }", "reserved"),
    ]

    static let directives = [
        Refusal(.unknownDirective, "type A «@tabel» { a: Int }", "@tabel", help: "\"table\""),
        Refusal(.view, "type A @view(sql: «\"DELETE FROM b\"») { a: Int }", "must begin with SELECT"),
        Refusal(.view, "type A @view(sql: «\"SELECT $1\"») { a: Int }", "cannot have parameters"),
        Refusal(.view, "type A @view(sql: «\"SELECT 1; SELECT 2\"») { a: Int }", "single statement"),
        Refusal(.view, "type A @view(name: \"b\", sql: «\"SELECT 1\"») { a: Int }", "either"),
        Refusal(.view, "type A @view { a: Int «@default»(value: 1) }", "@default"),
        Refusal(.view, "type A @view { a: Int «@unique» }", "one-to-one"),
        Refusal(.view, "type A @view «@index»(fields: [\"a\"]) { a: Int }", "@index"),
        Refusal(.view, "type A @view { a: Int }\ntype B @table { a: «A» }", "no key"),
        Refusal(.view, "type A @table «@view» { a: Int }", "not both"),
        Refusal(.searchable, "type A @table { a: Int «@searchable» }", "String"),
        Refusal(
            .searchable, "type A @table { a: String @searchable(language: «\"englsh\"») }", "\"englsh\"",
            help: "\"english\""),
        Refusal(
            .searchable, "type A @table { a: String @searchable b: String «@searchable»(language: \"french\") }",
            "has the language french", help: "same language"),
        Refusal(.directiveNotOffered, "type A @table { a: String «@embed» }", "f_embed"),
        Refusal(.misplacedDirective, "type A @table «@auth»(level: PUBLIC) { a: Int }", "operations"),
        Refusal(.misplacedDirective, "type A @table { a: Int «@table» }", "@table", help: "a type"),
        Refusal(.misplacedDirective, "type A @table «@col»(name: \"x\") { a: Int }", "@col", help: "a field"),
        Refusal(
            .repeatedDirective, "type A @table { a: Int @col(name: \"x\") «@col»(name: \"y\") }", "more than once"),
        Refusal(.unknownArgument, "type A @table(«nam»: \"x\") { a: Int }", "\"nam\"", help: "\"name\""),
        Refusal(.repeatedArgument, "type A @table(name: \"x\", «name»: \"y\") { a: Int }", "more than once"),
        Refusal(.argumentType, "type A @table(name: «1») { a: Int }", "must be a string"),
        Refusal(.argumentType, "type A @table(name: «\"\"») { a: Int }", "is empty"),
        Refusal(.argumentType, "type A @table(key: «[1]») { a: Int }", "list of strings"),
        Refusal(.argumentType, "type A @table(key: «[]») { a: Int }", "empty list"),
        Refusal(.argumentType, "type A @table { a: Int @col(size: «\"x\"») }", "integer"),
        Refusal(.argumentType, "type A @table { a: Int @index(type: «HASH») }", "BTREE"),
        Refusal(.argumentType, "type A @table @index(fields: [\"a\"], order: «[UP]») { a: Int }", "ASC or DESC"),
    ]

    static let fields = [
        Refusal(.reservedName, "type A @table { «_count»: Int }", "reserved"),
        Refusal(.reservedName, "type A @table { «ctid»: Int }", "system column", help: "@col"),
        Refusal(.duplicateField, "type A @table { a: Int «a»: Int }", "more than once"),
        Refusal(.fieldArguments, "type A @table { a(«x: Int»): Int }", "cannot have arguments"),
        Refusal(.nestedList, "type A @table { a: «[[Int]]» }", "list of lists"),
        Refusal(
            .listOfTables, "type A @table { bs: «[B!]!» }\ntype B @table { n: Int }", "refer to this",
            help: "bs_on_…"),
        Refusal(.typeNotOffered, "type A @table { v: «[Vector]» }", "list of vectors"),
        Refusal(.dataType, "type A @table { v: «Vector» }", "@col(size: …)"),
        Refusal(.dataType, "type A @table { v: Vector @col(size: «0») }", "1 to 16000"),
        Refusal(.keyType, "type A @table(key: «\"v\"») { v: Vector! @col(size: 2) }", "Vector"),
        Refusal(.unknownType, "type A @table { a: «Strin!» }", "\"Strin\"", help: "\"String\""),
        Refusal(.unknownType, "type A @table { a: «Integer!» }", "\"Integer\"", help: "\"Int\""),
        Refusal(.unknownType, "type A @table { a: «ID!» }", "\"ID\"", help: "UUID or String"),
        Refusal(.unknownType, "type Novel @table { a: «Nove» }", "\"Nove\"", help: "\"Novel\""),
        Refusal(
            .dataType, "type A @table { a: Int @col(dataType: «\"uuid\"») }", "not supported for Int",
            help: "smallint"),
        Refusal(
            .refType,
            """
            type A @table(key: "n") { n: String! @col(dataType: "citext") }
            type B @table { «an»: String! a: A! @ref(fields: "an") }
            """, "must have the type"),
        Refusal(
            .searchable, "type A @table { a: String @col(dataType: \"interval\") «@searchable» }",
            "cannot be searched"),
        Refusal(
            .unknownDataType, "type A @table { a: String @col(dataType: «\"varchr(9)\"») }", "not known",
            help: "varchar"),
        Refusal(
            .ignoredConstraint, "type A @table { a: Float @col(dataType: «\"numeric(14,3) CHECK (a > 0)\"») }",
            "\"CHECK (a > 0)\" is left out", help: "@unique"),
        Refusal(.dataType, "type A @table { a: String @col(dataType: «\"text[]\"») }", "not supported for String"),
        Refusal(
            .dataType, "type A @table { a: [Int] @col(dataType: «\"date[]\"») }", "for [Int!]", help: "smallint[]"),
        Refusal(.dataType, "type A @table { a: [String] @col(dataType: «\"text[][]\"») }", "for [String!]"),
        Refusal(.dataType, "type A @table { a: Float @col(dataType: «\"numeric(x)\"») }", "not supported"),
        Refusal(.dataType, "type A @table { a: Int @col(dataType: «\"serial\"») }", "serial column"),
        Refusal(.dataType, "type A @table { a: Float @col(dataType: «\"float(54)\"») }", "not supported"),
        Refusal(.dataType, "type A @table { a: Int @col(size: «3») }", "Vector"),
        Refusal(
            .nameTooLong, "type A @table { a: Int @col(name: «\"\(String(repeating: "x", count: 64))\"») }",
            "63 bytes"),
        Refusal(.nameTooLong, "type A @table { «\(String(repeating: "x", count: 64))»: Int }", "63 bytes"),
        Refusal(.sqlNameClash, "type A @table { imageUrl: Int «imageURL»: Int }", "\"image_url\"", help: "@col"),
    ]

    static let keys = [
        Refusal(.unknownField, "type A @table(key: «\"uid\"») { ud: String! }", "\"uid\"", help: "\"ud\""),
        Refusal(.nullableKey, "type A @table(key: \"a\") { a: «String» }", "must be required"),
        Refusal(.nullableKey, "type A @table(key: \"b\") { b: «B» }\ntype B @table { n: Int }", "must be required"),
        Refusal(.keyType, "type A @table(key: «\"a\"») { a: [String]! }", "list"),
        Refusal(.keyType, "type A @table(key: «\"a\"») { a: Any! }", "Any"),
        Refusal(.repeatedField, "type A @table(key: [\"a\", «\"a\"»]) { a: Int! }", "more than once"),
        Refusal(
            .keyCycle, "type A @table(key: «\"b\"») { b: B! }\ntype B @table(key: \"a\") { a: A! }", "A → B → A"),
        Refusal(.keyCycle, "type A @table(key: «\"a\"») { a: A! }", "A → A"),
    ]

    static let references = [
        Refusal(.refOnColumn, "type A @table { a: Int «@ref» }", "table type"),
        Refusal(
            .directiveOnReference, "type A @table { b: B «@col»(name: \"x\") }\ntype B @table { n: Int }", "@col"),
        Refusal(
            .directiveOnReference, "type A @table { b: B «@default»(value: 1) }\ntype B @table { n: Int }",
            "@default"),
        Refusal(
            .unknownField, "type A @table { b: B @ref(references: «\"cod\"») }\ntype B @table { code: Int @unique }",
            "\"cod\"", help: "\"code\""),
        Refusal(
            .refCount, "type A @table { b: B @ref(fields: «[\"x\", \"y\"]») }\ntype B @table { n: Int }",
            "2 fields of this type, but 1"),
        Refusal(.refType, "type A @table { b: B «bId»: String }\ntype B @table { n: Int }", "UUID"),
        Refusal(
            .refNotUnique, "type A @table { b: B @ref(references: «\"n\"») }\ntype B @table { n: Int }", "neither",
            help: "@unique"),
        Refusal(
            .referenceNullability, "type A @table { b: «B!» bId: UUID }\ntype B @table { n: Int }", "required, but"),
        Refusal(
            .referenceNullability, "type A @table { b: «B» bId: UUID! }\ntype B @table { n: Int }", "optional, but"),
        Refusal(
            .sqlNameClash,
            """
            type «A» @table { b: B @ref(constraintName: "x") c: B @ref(constraintName: "x") }\ntype B @table { n: Int }
            """,
            "constraint name"),
    ]

    static let defaults = [
        Refusal(.defaultArguments, "type A @table { a: Int «@default» }", "exactly one"),
        Refusal(.defaultArguments, "type A @table { a: Int «@default»(value: 1, sql: \"1\") }", "exactly one"),
        Refusal(
            .defaultArguments, "type A @table { a: Int! @col(dataType: \"serial\") «@default»(value: 1) }", "serial"),
        Refusal(.defaultType, "type A @table { a: Int @default(value: «\"x\"») }", "type Int"),
        Refusal(.defaultType, "type A @table { a: Int @default(value: «3000000000») }", "type Int"),
        Refusal(.defaultType, "type A @table { a: Date @default(value: «\"2025-02-29\"») }", "type Date"),
        Refusal(.defaultType, "type A @table { a: Timestamp @default(value: «\"2025-02-28\"») }", "type Timestamp"),
        Refusal(.defaultType, "type A @table { a: UUID @default(value: «\"x\"») }", "type UUID"),
        Refusal(.defaultType, "type A @table { a: [Int] @default(value: «[1, \"x\"]») }", "type [Int]"),
        Refusal(.defaultType, "type A @table { a: Int! @default(value: «null») }", "cannot be null"),
        Refusal(
            .defaultType,
            """
            enum E { RED }\ntype A @table { a: E @default(value: «REDD») }
            """, "type E", help: "\"RED\""),
        Refusal(.defaultSQL, "type A @table { a: Int @default(sql: «\"1; DROP TABLE x\"») }", "one expression"),
        Refusal(.defaultExpression, "type A @table { a: Int @default(expr: «\"1 +\"») }", "CEL"),
        Refusal(.defaultExpression, "type A @table { a: Int @default(expr: «\"'x'\"») }", "yields string"),
        Refusal(.defaultExpression, "type A @table { a: Int @default(expr: «\"uuidV4()\"») }", "type Int"),
        Refusal(
            .defaultExpression, "type A @table { a: String @default(expr: «\"'x' + uuidV4()\"») }", "whole expression"
        ),
        Refusal(.defaultExpression, "type A @table { a: String @default(expr: «\"vars.x\"») }", "vars"),
    ]

    static let constraints = [
        Refusal(.missingFields, "type A @table «@unique» { a: Int }", "\"fields\""),
        Refusal(.missingFields, "type A @table «@index» { a: Int }", "\"fields\""),
        Refusal(.fieldsOnField, "type A @table { a: Int @unique(fields: «[\"a\"]») }", "on a type"),
        Refusal(.fieldsOnField, "type A @table { a: Int @index(order: «[ASC]») }", "on a type"),
        Refusal(
            .unknownField, "type A @table @index(fields: [«\"titel\"»]) { title: String }", "\"titel\"",
            help: "\"title\""),
        Refusal(.repeatedField, "type A @table @index(fields: [\"a\", «\"a\"»]) { a: Int }", "more than once"),
        Refusal(
            .indexOrder, "type A @table @index(fields: [\"a\", \"b\"], order: «[ASC]») { a: Int b: Int }",
            "1 entries for 2"),
        Refusal(
            .indexOrder, "type A @table @index(fields: [\"a\"], type: GIN, order: «[ASC]») { a: [Int] }", "BTREE"),
        Refusal(.indexType, "type A @table { a: Int @index(type: «GIN») }", "lists"),
        Refusal(.indexType, "type A @table { a: Int @index(type: «HNSW») }", "Vector"),
        Refusal(.indexType, "type A @table { a: Vector @col(size: 2) @index(type: «BTREE») }", "HNSW"),
        Refusal(.indexType, "type A @table { a: Int @index(vector_method: «L2») }", "Vector"),
        Refusal(.indexType, "type A @table { a: [Int] «@index»(type: BTREE) }", "GIN"),
        Refusal(.indexType, "type A @table «@index»(fields: [\"a\", \"b\"]) { a: [Int] b: Int }", "GIN"),
        Refusal(.uniqueType, "type A @table { a: Any «@unique» }", "Any"),
        Refusal(.redundantUnique, "type A @table { id: UUID! «@unique» }", "already"),
        Refusal(.redundantUnique, "type A @table @unique(fields: [\"a\"]) { a: Int «@unique» }", "already"),
        Refusal(
            .nameTooLong, "type A @table { a: Int @index(name: «\"\(String(repeating: "x", count: 64))\"») }",
            "63 bytes"),
    ]

    static let names = [
        Refusal(.invalidName, "type A @table(singular: «\"a-b\"») { a: Int }", "not a valid name"),
        Refusal(.pluralClash, "type «Series» @table(plural: \"series\") { a: Int }", "\"series\"", help: "plural"),
        Refusal(
            .rootFieldClash, "type Novel @table { a: Int }\ntype «Novels» @table(plural: \"novelsList\") { a: Int }",
            "\"novels\""),
        Refusal(
            .sqlNameClash, "type Novel @table { a: Int }\ntype «Film» @table(name: \"novel\") { a: Int }",
            "table Film and table Novel"),
        Refusal(.sqlNameClash, "type Mood @table(name: \"state\") { a: Int }\nenum «State» { A }", "enum State"),
        Refusal(.nameTooLong, "type «\(String(repeating: "X", count: 64))» @table { a: Int }", "63 bytes"),
        Refusal(.generatedNameClash, "type A @table { n: Int «n_count»: Int }", "generated from \"n\""),
        Refusal(.generatedNameClash, "type A @table { «bs_on_a»: Int }\ntype B @table { a: A }", "generated from B"),
        Refusal(
            .generatedNameClash, "type A @table { n: Int }\ntype «A_Key» @table(plural: \"aKeyList\") { n: Int }",
            "type generated"),
    ]

    @Test func oneBrokenFileDoesNotHideTheOthers() {
        var sink = DiagnosticSink()
        _ = SchemaCompiler.compile(
            files: [
                SourceFile(path: "b.gql", text: "type B @table { a: Int «"),
                SourceFile(path: "a.gql", text: "type A @table { b: B, c: Int @ref }"),
            ], sink: &sink)
        // B may be in the file that did not parse, so it is not called unknown.
        #expect(sink.diagnostics.map(\.rule) == [.refOnColumn, .syntax])
        #expect(sink.diagnostics.map(\.file) == ["a.gql", "b.gql"])
    }

    @Test func anErrorInAnExtensionIsReportedInItsFile() {
        var sink = DiagnosticSink()
        _ = SchemaCompiler.compile(
            files: [
                SourceFile(
                    path: "a.gql",
                    text:
                        """
                        extend type T @index(fields: ["x"]) {\n a: Int @col(dataType: "uuid")\n b: T @ref(references: \
                        ["y"])\n
                        """
                            + " c: Int @default(value: 1.5) @index(type: GIN)\n d: Int @searchable\n a_max: Int\n}"),
                SourceFile(path: "b.gql", text: "type T @table { n: Int }"),
            ], sink: &sink)
        #expect(
            sink.diagnostics.map { "\($0.file):\($0.line) \($0.rule)" } == [
                "a.gql:1 unknown-field", "a.gql:2 data-type", "a.gql:3 unknown-field", "a.gql:4 default-type",
                "a.gql:4 index-type", "a.gql:5 searchable", "a.gql:6 generated-name-clash",
            ])
    }

    @Test func theFieldsOfARefusedExtensionAreNoFurtherProblem() {
        let errors = CatalogHarness.errors(
            "query Q @auth(level: USER) { novels { subtitle } }",
            schema: CatalogHarness.schema + "\nextend type Nove { subtitle: String }")
        #expect(errors.count == 1 && errors[0].contains("unknown-type: there is no type \"Nove\""), "\(errors)")
    }

    @Test func anExtensionOfATypeInABrokenFileIsNotCalledUnknown() {
        var sink = DiagnosticSink()
        _ = SchemaCompiler.compile(
            files: [
                SourceFile(path: "a.gql", text: "extend type B { a: Int }"),
                SourceFile(path: "b.gql", text: "type B @table { a: "),
            ], sink: &sink)
        #expect(sink.diagnostics.map(\.rule) == [.syntax])
    }

    @Test func tooManyColumnsAreRefused() {
        let fields = (0..<1_600).map { "f\($0): Int" }.joined(separator: "\n")
        #expect(schemaDiagnostics("type A @table {\n\(fields)\n}").map(\.rule) == [.tooManyColumns])
    }

    @Test func cyclesThroughReferencesAreFine() {
        let schema = compileSchema("type A @table { b: B! }\ntype B @table { a: A, self: B }")
        #expect(schema.table(ofType: "B")?.columns.map(\.field) == ["id", "aId", "selfId"])
    }

    @Test(arguments: [
        ("type A @table { «b»: B! }\ntype B @table { c: C! }\ntype C @table { a: A! n: A }", "A.b → B.c → C.a → A"),
        (
            "type A @table { root: A! «b»: B! }\ntype B @table { a: A! parent: B! }", "A.b → B.a → A"
        ),
    ])
    func cyclesOfRequiredReferencesAreAWarning(sdl: String, way: String) throws {
        let marked = MarkedText(sdl)
        let found = schemaDiagnostics(marked.text)
        #expect(found.map(\.rule) == [.requiredCycle] && found[0].severity == .warning)
        #expect(found[0].message.contains(way) && found[0].help?.contains("optional") == true, "\(found)")
        #expect(found[0].help?.contains("nested data") == true)
        #expect(found[0].line == marked.place?.line && found[0].column == marked.place?.column)
    }

    @Test func aRequiredReferenceToTheOwnTableIsNoCycle() {
        #expect(schemaDiagnostics("type B @table { parent: B! }").isEmpty)
    }

    @Test(arguments: [
        (
            "«type Novel» @table {\n  title: String\n\ntype Film @table {\n  name: String }\n",
            "type Novel is not closed"
        ),
        ("type Novel @table { title: String }\n«enum Mood» {\n  GOOD # }\n", "enum Mood is not closed"),
    ])
    func aMissingBraceIsShownWhereTheTypeBegins(sdl: String, message: String) throws {
        let marked = MarkedText(sdl)
        let found = schemaDiagnostics(marked.text)
        #expect(found.count == 1 && found[0].rule == .syntax && found[0].message.contains(message), "\(found)")
        #expect(found[0].line == marked.place?.line && found[0].column == marked.place?.column)
    }
}
