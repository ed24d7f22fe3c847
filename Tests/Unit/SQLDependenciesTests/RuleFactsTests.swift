import SchemaModel
import Testing

@testable import SQLDependencies

/// Reading stored rules of views.
@Suite struct RuleFactsTests {
    /// The rule of the view `SELECT 1 FROM (query) r`, as Postgres 15 writes it.
    static func rule(_ query: String, entries: String, order: String = "", of view: Int = 900) -> String {
        let flags =
            ":commandType 1 :hasAggs false :hasTargetSRFs false :hasDistinctOn false :hasModifyingCTE false"
        return """
            ({QUERY \(flags) :rtable ({RANGETBLENTRY :alias {ALIAS :aliasname old :colnames <>} :rtekind 0 \
            :relid \(view) :selectedCols (b) :securityQuals <>} {RANGETBLENTRY :alias {ALIAS :aliasname r} :rtekind 1 \
            :subquery {QUERY \(flags) :rtable (\(entries)) \
            :jointree {FROMEXPR :fromlist ({RANGETBLREF :rtindex 1}) :quals <>} :targetList (\(query)) \
            :groupClause <> :limitOffset <> :limitCount <> :setOperations <> \(order)} \
            :relid 0 :securityQuals <>}) :targetList ({CONST :constvalue 4 [ 1 0 0 0 ]})})
            """
    }

    static func entry(_ relation: Int, columns: String) -> String {
        "{RANGETBLENTRY :rtekind 0 :relid \(relation) :selectedCols (b\(columns)) :securityQuals <>}"
    }

    private static func facts(_ rule: String) -> RuleFacts { RuleFacts(rule, of: 900) }

    @Test func columnsAreThoseThatThePrivilegeToSelectIsAskedFor() {
        let facts = Self.facts(
            Self.rule(
                "{VAR :varattno 1}", entries: Self.entry(20_000, columns: " 8 10") + Self.entry(20_001, columns: "")))
        #expect(facts.refusal == nil)
        #expect(Set(facts.relations.keys) == [20_000, 20_001])
        #expect(facts.relations[20_000]?.numbers == [1, 3] && facts.relations[20_000]?.isWholeRow == false)
        #expect(facts.relations[20_001]?.numbers == [] && facts.relations[20_001]?.isWholeRow == false)
    }

    @Test(arguments: [" 7", " 7 9", " 1"])
    func wholeRowsAndSystemColumnsAreTold(columns: String) {
        let facts = Self.facts(Self.rule("{VAR :varattno 0}", entries: Self.entry(20_000, columns: columns)))
        #expect(facts.relations[20_000]?.isWholeRow == true)
    }

    /// Postgres 16 and newer have nodes for the columns.
    @Test func columnsOfPermissionsCount() {
        let entry = "{RANGETBLENTRY :rtekind 0 :relid 20000 :perminfoindex 1 :securityQuals <>}"
        let permission = "{RTEPERMISSIONINFO :relid 20000 :inh true :selectedCols (b 9)}"
        let facts = Self.facts(Self.rule("{VAR :varattno 2}", entries: entry, order: ":rteperminfos (\(permission))"))
        #expect(facts.refusal == nil && facts.relations[20_000]?.numbers == [2])
        // Without them, every column may be read.
        #expect(Self.facts(Self.rule("{VAR :varattno 2}", entries: entry)).relations[20_000]?.isWholeRow == true)
    }

    @Test func functionsAndOperatorsAreTold() {
        let facts = Self.facts(
            Self.rule(
                "{FUNCEXPR :funcid 1299} {OPEXPR :opno 96 :opfuncid 65} {AGGREF :aggfnoid 2108}"
                    + " {WINDOWFUNC :winfnoid 3100} {ROWCOMPAREEXPR :opnos (o 97 98)}"
                    + " {SORTGROUPCLAUSE :eqop 96 :sortop 97}", entries: ""))
        #expect(facts.refusal == nil)
        #expect(facts.functions == [1299, 65, 3100] && facts.aggregates == [2108] && facts.operators == [96, 97, 98])
        #expect(facts.dependsOnStoredOrder, "a window")
    }

    @Test(arguments: [
        ("{SQLVALUEFUNCTION :op 0}", true), ("{SQLVALUEFUNCTION :op 8}", true), ("{SQLVALUEFUNCTION :op 9}", false),
        ("{COERCEVIAIO :resulttype 1184}", true), ("{COERCEVIAIO :resulttype 25}", false),
    ])
    func timeIsTold(node: String, readsTime: Bool) {
        #expect(Self.facts(Self.rule(node, entries: "")).readsTime == readsTime)
    }

    @Test(arguments: [
        ("{SUBLINK :subLinkType 6}", true), ("{SUBLINK :subLinkType 4}", false),
        ("{SORTGROUPCLAUSE :eqop 1752 :sortop 1754}", true), ("{SORTGROUPCLAUSE :eqop 98 :sortop 664}", false),
        ("{QUERY :commandType 1 :hasModifyingCTE false :hasDistinctOn false :limitCount {CONST :x 1}}", true),
        ("{QUERY :commandType 1 :hasModifyingCTE false :hasDistinctOn true :limitCount <>}", true),
    ])
    func dependenceOnTheStoredOrderIsTold(node: String, depends: Bool) {
        let facts = Self.facts(Self.rule(node, entries: ""))
        #expect(facts.refusal == nil && facts.dependsOnStoredOrder == depends)
    }

    @Test(arguments: [
        ("{TABLESAMPLECLAUSE :tsmhandler 3313}", "it has TABLESAMPLE"),
        ("{COERCETODOMAIN :arg <>}", "it casts to a domain"),
        ("{NEWTHING :x 1}", "it has NEWTHING, which is not understood"),
        ("{QUERY :commandType 3 :hasModifyingCTE false}", "it may write"),
        ("{QUERY :commandType 1 :hasModifyingCTE true}", "it may write"),
        ("{FUNCEXPR :funcid x}", "its rule in the database cannot be read"),
        ("{RANGETBLENTRY :rtekind 7 :relid 0}", "it reads from a place that is not understood"),
        ("{RANGETBLENTRY :rtekind 0 :relid 0 :securityQuals ({CONST :x 1})}", "row security applies to it"),
    ])
    func unknownConstructsAreRefused(node: String, reason: String) {
        #expect(Self.facts(Self.rule(node, entries: "")).refusal == reason)
    }

    @Test(arguments: [
        "", "(", "({QUERY", "({QUERY :a 1)", "({QUERY a})", "({QUERY :a 1}) x", String(repeating: "(", count: 500),
    ])
    func malformedRulesAreRefused(rule: String) {
        #expect(Self.facts(rule).refusal != nil)
    }

    @Test func wordsWithEscapedBracketsAreOneWord() throws {
        let facts = Self.facts(Self.rule("{ALIAS :aliasname a\\ \\(b\\{\\} :colnames <>}", entries: ""))
        #expect(facts.refusal == nil)
    }
}
