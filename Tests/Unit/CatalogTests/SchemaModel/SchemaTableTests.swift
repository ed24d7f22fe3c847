import Testing
@testable import SchemaModel
@testable import SchemaSDL

@Suite("Tables and columns from SDL")
struct SchemaTableTests {
    @Test func defaultKeyIsAddedFirst() throws {
        let table = try #require(compileSchema("type NovelMaker @table { name: String }").tables.first)
        #expect(table.name == "novel_maker")
        #expect(table.singular == "novelMaker")
        #expect(table.plural == "novelMakers")
        #expect(table.key == ["id"])
        #expect(table.columns.map(\.field) == ["id", "name"])
        let id = table.columns[0]
        #expect(id.type == ColumnType(.uuid) && !id.isNullable)
        guard case .expression("uuidV4()") = id.defaultValue else {
            Issue.record("the key has no default")
            return
        }
    }

    @Test func declaredKeyKeepsItsPlace() throws {
        let table = try #require(
            compileSchema(
                """
                type User @table(key: "uid", name: "Users", singular: "person", plural: "people") {
                  name: String uid: String!
                }
                """
            )
            .tables.first)
        #expect(table.key == ["uid"] && table.columns.map(\.field) == ["name", "uid"])
        #expect(table.name == "Users" && table.singular == "person" && table.plural == "people")
    }

    /// The same default as an undeclared key's; a foreign key, or a field that is no key, has none.
    @Test func declaredKeyOfUUIDHasTheDefaultOfKeys() throws {
        let schema = compileSchema(
            """
            type Thing @table { title: String id: UUID! }
            type Part @table { id: UUID! thing: Thing! @ref(fields: ["id"]) }
            type Other @table(key: "name") { id: UUID! name: String! }
            type Pair @table(key: ["id", "name"]) { id: UUID! name: String! }
            type Word @table { id: String! }
            """)
        let filled = schema.tables.filter { $0.column(ofField: "id")?.defaultValue != nil }
        #expect(filled.map(\.typeName) == ["Thing"])
    }

    @Test func compositeKeyOfReferences() throws {
        let schema = compileSchema(
            """
            type NovelMaker @table(key: ["novel", "maker"]) { novel: Novel! maker: Maker! role: String }
            type Novel @table { title: String }
            type Maker @table(key: "slug") { slug: String! }
            """)
        let table = try #require(schema.table(ofType: "NovelMaker"))
        #expect(table.key == ["novelId", "makerSlug"])
        #expect(table.columns.map(\.name) == ["novel_id", "maker_slug", "role"])
        #expect(table.columns.map(\.type.scalar) == [.uuid, .string, .string])
        #expect(table.references.map(\.targetFields) == [["id"], ["slug"]])
        #expect(table.references.allSatisfy { $0.deleteRule == .cascade && !$0.isUnique && !$0.isNullable })
        #expect(table.references.map(\.constraintName) == ["novel_maker_novel_id_fkey", "novel_maker_maker_slug_fkey"])
        // The key's index serves the first reference, the second needs its own.
        #expect(table.indexes.map(\.name) == ["novel_maker_maker_slug_idx"])
    }

    @Test func keyNamesAColumnThatAReferenceAdds() throws {
        let schema = compileSchema(
            "type Seat @table(key: [\"hallId\", \"number\"]) { hall: Hall! number: Int! }\ntype Hall @table { n: Int }")
        #expect(schema.table(ofType: "Seat")?.key == ["hallId", "number"])
    }

    @Test func foreignKeyOfACompositeKey() throws {
        let schema = compileSchema(
            """
            type Ticket @table { seat: Seat }
            type Seat @table(key: ["hall", "number"]) { hall: Hall! number: Int! @col(dataType: "serial") }
            type Hall @table(key: "name") { name: String! @col(dataType: "varchar(40)") }
            """)
        let ticket = try #require(schema.table(ofType: "Ticket"))
        #expect(ticket.columns.map(\.field) == ["id", "seatHallName", "seatNumber"])
        #expect(ticket.columns.map { schema.sqlType(of: $0) } == ["uuid", "character varying(40)", "integer"])
        #expect(ticket.columns.allSatisfy { !$0.isSerial && ($0.field == "id" || $0.isNullable) })
        let reference = try #require(ticket.references.first)
        #expect(reference.localFields == ["seatHallName", "seatNumber"])
        #expect(reference.targetFields == ["hallName", "number"])
        #expect(reference.deleteRule == .setNull)
        #expect(ticket.indexes.map(\.name) == ["ticket_seat_hall_name_seat_number_aa_idx"])
    }

    @Test func refNamesFieldsTargetsAndConstraint() throws {
        let schema = compileSchema(
            """
            type Login @table {
              account: Account! @ref(fields: "login", references: "name", constraintName: "fk")
              login: String!
            }
            type Account @table { name: String! @unique }
            """)
        let reference = try #require(schema.table(ofType: "Login")?.references.first)
        #expect(reference.localFields == ["login"] && reference.targetFields == ["name"])
        #expect(reference.constraintName == "fk")
        #expect(schema.table(ofType: "Login")?.columns.map(\.field) == ["id", "login"])
    }

    @Test func oneToOneByUniqueOrByKey() throws {
        let schema = compileSchema(
            """
            type User @table { name: String }
            type Account @table { user: User! @unique }
            type Settings @table(key: "user", plural: "settingsList") { user: User! }
            type Post @table { user: User! }
            """)
        let relations = schema.inverseRelations(ofType: "User")
        #expect(relations.map(\.name) == ["account_on_user", "settings_on_user", "posts_on_user"])
        #expect(relations.map(\.isSingle) == [true, true, false])
        #expect(schema.table(ofType: "Account")?.uniques.map(\.name) == ["account_user_id_uidx"])
    }

    @Test func joinTablesRelateManyToMany() throws {
        let schema = compileSchema(
            """
            type Novel @table { title: String }
            type Maker @table { name: String }
            type NovelMaker @table(key: ["novel", "maker"]) { novel: Novel! maker: Maker! }
            type Friendship @table(key: ["one", "other"]) { one: Maker! other: Maker! }
            type Vote @table(key: ["novel", "day"]) { novel: Novel! day: Date! }
            """)
        #expect(schema.manyToManyRelations(ofType: "Novel").map(\.name) == ["makers_via_NovelMaker"])
        let ofMaker = schema.manyToManyRelations(ofType: "Maker")
        #expect(
            ofMaker.map(\.name)
                == ["novels_via_NovelMaker", "makers_via_Friendship_on_one", "makers_via_Friendship_on_other"])
        #expect(ofMaker[0].near.field == "maker" && ofMaker[0].far.field == "novel")
        #expect(ofMaker[0].target.typeName == "Novel" && ofMaker[0].join.typeName == "NovelMaker")
    }

    @Test func constraintNamesAndOrders() throws {
        let schema = compileSchema(
            """
            enum Genre { A B }
            type Novel @table @index(fields: ["title", "year"], order: [ASC, DESC]) @unique(fields: ["title", "year"])
                @index(fields: ["binder", "year"], name: "own") {
              title: String @index
              year: Int @unique(indexName: "one_a_year")
              binder: Binder
              tags: [String!] @index
              notes: Any @index
              genres: [Genre!]
            }
            type Binder @table { name: String }
            """)
        let novel = try #require(schema.table(ofType: "Novel"))
        #expect(novel.uniques.map(\.name) == ["novel_title_year_uidx", "one_a_year"])
        #expect(
            novel.indexes.map(\.name)
                == ["novel_title_year_ad_idx", "own", "novel_title_idx", "novel_tags_idx", "novel_notes_idx"])
        #expect(novel.indexes.map(\.method) == ["btree", "btree", "btree", "gin", "gin"])
        #expect(novel.indexes[0].order == [.ascending, .descending])
        // "own" begins with the reference's column: no index is added for it.
        #expect(novel.indexes[1].fields == ["binderId", "year"])
        #expect(novel.column(ofField: "genres")?.type == ColumnType(.enumeration("Genre"), isList: true))
        #expect(schema.enums["Genre"]?.name == "genre")
    }

    @Test func defaultsBecomeCanonicalJSON() throws {
        let schema = compileSchema(
            """
            enum Color { RED }
            type A @table {
              s: String @default(value: "x")
              i: Int @default(value: 1)
              l: Int64 @default(value: "9007199254740993")
              f: Float @default(value: 1)
              b: Boolean @default(value: true)
              u: UUID @default(value: "{550E8400-E29B-41d4-A716-446655440000}")
              d: Date @default(value: "2024-02-29")
              e: Color @default(value: RED)
              es: [Color!] @default(value: RED)
              a: Any @default(value: {b: 1, a: [null, "x"]})
              n: Int @default(value: null)
              t: Timestamp @default(expr: "request.time")
              o: String @default(expr: "auth.uid")
              q: String @default(sql: "lower('X')")
            }
            """)
        let columns = try #require(schema.tables.first).columns.dropFirst()
        let texts = columns.map { column -> String in
            switch column.defaultValue {
            case nil: "-"
            case .constant(let json): json
            case .expression(let text): "expr \(text)"
            case .sql(let text): "sql \(text)"
            }
        }
        #expect(
            texts == [
                "\"x\"", "1", "9007199254740993", "1", "true", "\"550e8400e29b41d4a716446655440000\"", "\"2024-02-29\"",
                "\"RED\"", "[\"RED\"]", "{\"a\":[null,\"x\"],\"b\":1}", "-", "expr request.time", "expr auth.uid",
                "sql lower('X')",
            ])
    }

    @Test func descriptionsAndDeprecationsAreHarmless() {
        let schema = compileSchema(
            """
            "What a film is" type Novel @table {
              \"\"\"Its name\"\"\" title: String @deprecated(reason: "use name") }
            enum E { "one" A @deprecated }
            """)
        #expect(schema.tables.count == 1)
    }

    @Test func extensionsAreMergedWhereverTheyStand() throws {
        var sink = DiagnosticSink()
        let schema = SchemaCompiler.compile(
            files: [
                SourceFile(
                    path: "a.gql",
                    text: """
                        extend type Novel @index(fields: ["title"], name: "by_title") { sequelTo: Novel mood: Mood }
                        extend enum Mood { SAD }
                        """),
                SourceFile(
                    path: "b.gql",
                    text: """
                        enum Mood { GLAD }
                        type Novel @table { title: String! }
                        extend type Novel @unique(fields: ["title", "mood"]) @index(fields: ["mood"])
                        """),
            ], sink: &sink)
        #expect(sink.diagnostics.isEmpty, "\(DiagnosticRenderer().render(sink.diagnostics))")
        let table = try #require(schema.table(ofType: "Novel"))
        #expect(table.columns.map(\.field) == ["id", "title", "sequelToId", "mood"])
        #expect(table.references.map(\.field) == ["sequelTo"])
        // In the order of the files.
        #expect(table.indexes.map(\.name) == ["by_title", "novel_mood_idx", "novel_sequel_to_id_idx"])
        #expect(table.uniques.map(\.fields) == [["title", "mood"]])
        #expect(schema.enums["Mood"]?.values == ["GLAD", "SAD"])
        let printed = GraphQLSchema(schema).text
        #expect(!printed.contains("extend "))
        #expect(printed.contains("enum Mood {\n  GLAD\n  SAD\n}"))
        #expect(printed.contains("sequelTo: Novel\n") && printed.contains("novels_on_sequelTo("))
    }

    @Test func dataTypesAreCanonicalAndFitTheirScalar() {
        func name(_ text: String, _ scalar: ScalarType, isList: Bool = false) -> String? {
            ColumnDataType(text, for: ColumnType(scalar, isList: isList))?.name
        }
        #expect(name("VARCHAR( 40 )", .string) == "character varying(40)")
        #expect(name("char", .string) == "character(1)")
        #expect(name("numeric(10, 2)", .float) == "numeric(10,2)" && name("decimal(9)", .float) == "numeric(9,0)")
        #expect(name("timestamp  with time zone", .timestamp) == "timestamp with time zone")
        for text in ["varchar(9)[]", "VARCHAR (9) []", "varchar(9)"] {
            #expect(name(text, .string, isList: true) == "character varying(9)", "\(text)")
        }
        #expect(ColumnDataType("bigserial", for: ColumnType(.int64))?.isSerial == true)
        for wrong in ["numeric(1,2,3)", "numeric(", "numeric()", "numeric(-1)", "text(3)", "serial", "", "text; drop"] {
            #expect(name(wrong, .float) == nil && name(wrong, .string) == nil, "\(wrong)")
        }
    }

    @Test func convertedDataTypes() {
        func type(_ text: String, _ scalar: ScalarType, isList: Bool = false) -> ColumnDataType? {
            ColumnDataType(text, for: ColumnType(scalar, isList: isList))
        }
        #expect(type("citext", .string)?.conversion == .cast(.stored, throughText: false))
        #expect(type("citext", .string)?.extensionName == "citext")
        #expect(type("numeric", .int64)?.conversion == .cast(.direct, throughText: false))
        #expect(type("numeric", .float)?.conversion == nil)
        #expect(type("Time (3) with time zone", .string)?.name == "time(3) with time zone")
        #expect(type("timestamptz(0)", .timestamp)?.name == "timestamp(0) with time zone")
        #expect(type("jsonb", .string, isList: true)?.conversion == .jsonArray)
        #expect(type("jsonb[]", .any, isList: true)?.conversion == nil)
        #expect(type("Money_Range", .string)?.name == "money_range")
        #expect(type("billing.\"Money Range\"", .string)?.name == "billing.\"Money Range\"")
        #expect(type("money_range", .int)?.conversion == .cast(.standard, throughText: true))
        #expect(type("inet", .int) == nil && type("date", .boolean) == nil && type("uuid", .float) == nil)
        #expect(type("bad\"name", .string) == nil && type("a--b", .string) == nil)
    }

    @Test(
        arguments: [
            ("numeric(14,3) CHECK (price > 0)", "numeric(14,3)"), ("numeric(14,3)CHECK(price > 0)", "numeric(14,3)"),
            ("Varchar(9)  NOT  NULL", "character varying(9)"), ("text collate \"C\"", "text"),
            ("text[] default '{}'", nil), ("check (a)", nil), ("numeric(14,3) whatever", nil),
        ] as [(String, String?)])
    func constraintsAfterADataTypeAreLeftOut(_ text: String, name: String?) {
        let types = [ScalarType.float, .string].compactMap { ColumnDataType(text, for: ColumnType($0)) }
        #expect(types.first { $0.isKnown }?.name == name)
        #expect((ColumnDataType.ignoredPart(of: text) != nil) == (name != nil || text.hasPrefix("text[]")))
    }

    @Test func longGeneratedNamesAreShortenedDeterministically() {
        let long = String(repeating: "a", count: 70)
        let name = SQLName.generated([long, "b"], suffix: "idx")
        #expect(name.utf8.count == 63 && name.hasSuffix("_idx"))
        #expect(name == SQLName.generated([long, "b"], suffix: "idx"))
        #expect(name != SQLName.generated([long, "c"], suffix: "idx"))
        #expect(SQLName.generated(["novel", "title"], suffix: "idx") == "novel_title_idx")
    }
}
