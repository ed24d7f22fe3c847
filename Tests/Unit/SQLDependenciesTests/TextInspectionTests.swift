import SchemaModel
import Testing

@testable import SQLDependencies

/// Which tables, views and functions a text may use, so that changes of rows tell when its result changes.
@Suite struct TextInspectionTests {
    private static let schema: Schema = {
        var id = Column(field: "id", name: "id", type: ColumnType(.int), isNullable: false)
        id.isNullable = false
        let column = Column(field: "ownerId", name: "owner_id", type: ColumnType(.int), isNullable: true)
        return Schema(tables: [
            Table(typeName: "Lot", name: "lot", singular: "lot", plural: "lots", columns: [id, column], key: ["id"])
        ])
    }()

    private static func relation(
        _ name: String = "lot", kind: String = "r", isInSchema: Bool = true, isTemporary: Bool = false,
        hasRowSecurity: Bool = false, isPartition: Bool = false, hasChildren: Bool = false, generated: Bool = false,
        rule: String? = nil
    ) -> DatabaseRelation {
        DatabaseRelation(
            name: name, kind: kind, isInSchema: isInSchema, isTemporary: isTemporary, hasRowSecurity: hasRowSecurity,
            isPartition: isPartition, hasChildren: hasChildren,
            columns: [
                1: .init(name: "id", isGenerated: false), 2: .init(name: "owner_id", isGenerated: generated),
                3: .init(name: "other", isGenerated: false),
            ], rule: rule, definition: ("r:\(name)", "d"))
    }

    private static func function(
        _ signature: String = "now()", isSystem: Bool = true, isAggregate: Bool = false, language: String = "internal",
        _ volatility: String = "i", of extensionName: String? = nil
    ) -> DatabaseFunction {
        DatabaseFunction(
            signature: signature, name: String(signature.prefix { $0 != "(" }), isSystem: isSystem,
            isAggregate: isAggregate, language: language, volatility: volatility, extensionName: extensionName,
            definition: isSystem ? nil : ("f:\(signature)", "d"))
    }

    /// The outcome of a text that reads these columns of relation 20000.
    private static func outcome(
        _ relations: [UInt32: DatabaseRelation], columns: String = " 8 9", _ functions: [DatabaseFunction] = [],
        text: String = "SELECT", node: String = ""
    ) -> TextInspection.Outcome {
        var inspection = TextInspection(
            text: text, rule: RuleFactsTests.rule(node, entries: RuleFactsTests.entry(20_000, columns: columns)),
            view: 900, schema: schema)
        while true {
            switch inspection.question {
            case .finished(let outcome): return outcome
            case .relations(let numbers): inspection.relationsRead(relations.filter { numbers.contains($0.key) })
            case .functions: inspection.functionsRead(functions)
            }
        }
    }

    private static func tables(_ outcome: TextInspection.Outcome) -> [String] {
        guard case .found(let finding) = outcome else { return ["\(outcome)"] }
        return finding.tables.map { "\($0.name)(\($0.columns?.joined(separator: " ") ?? "*"))" }
    }

    @Test func columnsOfTypesAreTold() {
        #expect(Self.tables(Self.outcome([20_000: Self.relation()])) == ["lot(id owner_id)"])
        #expect(Self.tables(Self.outcome([20_000: Self.relation()], columns: "")) == ["lot()"])
        #expect(
            Self.tables(Self.outcome([20_000: Self.relation(kind: "p", hasChildren: true)])) == ["lot(id owner_id)"])
        // Changes of a generated column, or of one that no field has, remain unknown.
        #expect(Self.tables(Self.outcome([20_000: Self.relation(generated: true)])) == ["lot(*)"])
        #expect(Self.tables(Self.outcome([20_000: Self.relation()], columns: " 10")) == ["lot(*)"])
        #expect(Self.tables(Self.outcome([20_000: Self.relation()], columns: " 7 8")) == ["lot(*)"])
    }

    @Test func viewsAreFollowed() {
        func view(_ name: String, _ number: Int, over relation: Int) -> DatabaseRelation {
            Self.relation(
                name, kind: "v",
                rule: RuleFactsTests.rule("", entries: RuleFactsTests.entry(relation, columns: " 8"), of: number))
        }
        let outcome = Self.outcome([
            20_000: view("outer", 20_000, over: 20_001), 20_001: view("inner", 20_001, over: 20_002),
            20_002: Self.relation(),
        ])
        #expect(Self.tables(outcome) == ["lot(id)"])
        guard case .found(let finding) = outcome else { return }
        #expect(finding.definitions == ["r:outer": "d", "r:inner": "d", "r:lot": "d"])
    }

    @Test(arguments: [
        (relation(kind: "m"), "lot is a materialized view"), (relation(kind: "f"), "lot is a foreign table"),
        (relation(isTemporary: true), "lot is temporary"),
        (relation(hasRowSecurity: true), "row security applies to lot"),
        (relation(isPartition: true), "lot is a partition"),
        (relation(hasChildren: true), "other tables inherit from lot"),
        (relation(kind: "v"), "lot is no table"), (relation("bid"), "no type of the schema is the table bid"),
        (relation(isInSchema: false), "no type of the schema is the table lot"),
    ])
    func relationsWhoseChangesNobodyTellsAreRefused(relation: DatabaseRelation, reason: String) {
        #expect(Self.outcome([20_000: relation]) == .refused(reason))
    }

    @Test func tablesOfPostgresAreRefused() {
        var inspection = TextInspection(
            text: "", rule: RuleFactsTests.rule("", entries: RuleFactsTests.entry(1259, columns: " 8")), view: 900,
            schema: Self.schema)
        #expect(inspection.question == .finished(.refused("it reads a table of Postgres itself")))
        // Nothing is asked any more.
        inspection.relationsRead([:])
        #expect(inspection.question == .finished(.refused("it reads a table of Postgres itself")))
    }

    @Test(
        arguments: [
            (function("lower(text)"), nil), (function("score(integer)", isSystem: false, language: "plpgsql"), nil),
            (function("to_char(timestamp with time zone,text)", "s"), nil),
            (function("similarity_op(text,text)", isSystem: false, language: "c", "s", of: "pg_trgm"), nil),
            (
                function("score(integer)", isSystem: false, language: "sql", "s"),
                "the function score(integer), written in sql, is not immutable"
            ),
            (
                function("score(integer)", isSystem: false, language: "plpgsql", "v"),
                "the function score(integer) is volatile"
            ),
            (
                function("crosstab(text)", isSystem: false, language: "c", "s", of: "tablefunc"),
                "the function crosstab(text) is not immutable"
            ),
            (function("random()", "v"), "the function random() is volatile"),
            (
                function("table_to_xml(regclass,boolean,boolean,text)", "s"),
                "the function table_to_xml(regclass,boolean,boolean,text) reads tables by their names"
            ),
            (
                function("pg_stat_get_tuples_inserted(oid)", "s"),
                "the function pg_stat_get_tuples_inserted(oid) reads the state of the server"
            ),
            (
                function("has_table_privilege(text,text)", "s"),
                "the function has_table_privilege(text,text) reads the state of the server"
            ),
            (
                function("obj_description(oid,name)", language: "sql", "s"),
                "the function obj_description(oid,name), written in sql, is not immutable"
            ),
            (function("pg_typeof(\"any\")", "s"), nil),
            (function("age(timestamp with time zone)", language: "sql", "s"), nil),
            (function("mine(integer)", isSystem: false, isAggregate: true, "i"), nil),
        ] as [(DatabaseFunction, String?)])
    func functionsThatMayReadMoreAreRefused(function: DatabaseFunction, reason: String?) {
        let outcome = Self.outcome([20_000: Self.relation()], [function])
        if case .refused(let found) = outcome { #expect(found == reason) } else { #expect(reason == nil) }
    }

    @Test func timeIsTold() {
        func readsTime(_ functions: [DatabaseFunction], text: String = "SELECT") -> Bool? {
            guard case .found(let found) = Self.outcome([20_000: Self.relation()], functions, text: text) else {
                return nil
            }
            return found.readsTime
        }
        #expect(readsTime([]) == false)
        #expect(readsTime([Self.function("now()", "s")]) == true)
        #expect(readsTime([Self.function("age(timestamp with time zone)", language: "sql", "s")]) == true)
        #expect(readsTime([Self.function("age(timestamp with time zone,timestamp with time zone)")]) == false)
        #expect(readsTime([], text: "SELECT 'Today'::date") == true)
    }

    @Test func ordersOfStorageAreTold() {
        func order(_ functions: [DatabaseFunction], node: String = "") -> SQLReads.StoredOrder? {
            guard case .found(let found) = Self.outcome([20_000: Self.relation()], functions, node: node) else {
                return nil
            }
            return found.storedOrder
        }
        #expect(order([]) == .order)
        #expect(order([Self.function("count()", isAggregate: true)]) == .order)
        #expect(order([Self.function("sum(double precision)", isAggregate: true)]) == .rows)
        #expect(order([Self.function("string_agg(text,text)", isAggregate: true)]) == .rows)
        #expect(order([], node: "{WINDOWFUNC :winfnoid 3100}") == .rows)
    }
}
