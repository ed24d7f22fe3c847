/// The relations, columns, functions and operators that a statement uses, and what it writes itself, as the stored rule
/// of a view, or the stored body of a function, says.
///
/// Every kind of node must be known, so that a construct of a later version of Postgres is refused and not overlooked.
/// Columns are those for which Postgres asks the privilege to select.
struct RuleFacts: Sendable {
    /// Columns of a relation by their numbers.
    struct Columns: Sendable {
        var numbers: Set<Int> = []
        /// Whether whole rows or system columns (`ctid`, `xmin`) are used.
        var isWholeRow = false
    }

    private(set) var relations: [UInt32: Columns] = [:]
    private(set) var functions: Set<UInt32> = []
    private(set) var aggregates: Set<UInt32> = []
    private(set) var operators: Set<UInt32> = []
    private(set) var readsTime = false
    /// Whether the rows, not only their order, may depend on the order in which rows of tables are stored, aggregates
    /// apart.
    private(set) var dependsOnStoredOrder = false
    /// Whether the query in the `FROM` clause has one row at most: aggregates without groups, or no `FROM`.
    private(set) var hasSingleRow = false
    /// Why the query is not understood; nil if it is.
    private(set) var refusal: String?
    /// Relations whose columns another node tells.
    private var mentioned: Set<UInt32> = []
    /// The rows that it writes itself, by relation.
    private(set) var writes: [UInt32: Write] = [:]
    private let mayWrite: Bool

    /// The writing of rows of one relation, as the privileges say that Postgres asks for.
    struct Write: Sendable, Equatable {
        var inserts = false
        var deletes = false
        /// The numbers of the columns that updates set. A row lock asks for the privilege to update and sets none.
        var columns: Set<Int> = []
    }

    /// - Parameter own: the view itself, which its rule mentions.
    init(_ rule: String, of own: UInt32) {
        mayWrite = false
        guard let tree = try? RuleTree.parse(rule) else {
            refusal = "its rule in the database cannot be read"
            return
        }
        visit(tree)
        mentioned.remove(own)
        relations[own] = nil
        for relation in mentioned where relations[relation] == nil { relations[relation] = Columns(isWholeRow: true) }
        hasSingleRow = Self.subquery(of: tree).map(Self.isSingleRow) ?? false
    }

    /// - Parameter statement: the stored body of a function in SQL (`prosqlbody`), which may write, or an expression
    ///   that belongs to a table.
    init(statement: String) {
        mayWrite = true
        guard let tree = try? RuleTree.parse(statement) else {
            refusal = "what the database made of it cannot be read"
            return
        }
        visit(tree)
        for relation in mentioned where relations[relation] == nil { relations[relation] = Columns(isWholeRow: true) }
    }

    private mutating func refuse(_ reason: String) { refusal = refusal ?? reason }

    private mutating func visit(_ tree: RuleTree) {
        switch tree {
        case .word: break
        case .list(let elements): for element in elements { visit(element) }
        case .node(let name, let fields):
            note(Node(name: name, fields: fields))
            for field in fields { for value in field.values { visit(value) } }
        }
    }

    private struct Node {
        let name: String
        let fields: [(field: String, values: [RuleTree])]

        func values(_ field: String) -> [RuleTree] { fields.first { $0.field == field }?.values ?? [] }

        func word(_ field: String) -> String? {
            guard case .word(let word)? = values(field).first else { return nil }
            return word
        }

        func isGiven(_ field: String) -> Bool { values(field).first.map { !$0.isNull } ?? false }
    }

    private static let functionFields: Set<String> = [
        "funcid", "winfnoid", "opfuncid", "hashfuncid", "negfuncid", "startInRangeFunc", "endInRangeFunc",
    ]
    private static let operatorFields: Set<String> = ["opno", "eqop", "sortop", "cycle_mark_neop"]

    /// Nodes that say nothing but what their fields and parts say.
    private static let plain: Set<String> = [
        "ALIAS", "ARRAY", "ARRAYCOERCEEXPR", "ARRAYEXPR", "BOOLEANTEST", "BOOLEXPR", "CASE", "CASEEXPR",
        "CASETESTEXPR", "CASEWHEN", "COALESCE", "COALESCEEXPR", "COLLATE", "COLLATEEXPR", "COMMONTABLEEXPR", "CONST",
        "CONVERTROWTYPEEXPR", "CTECYCLECLAUSE", "CTESEARCHCLAUSE", "DISTINCTEXPR", "FIELDSELECT", "FROMEXPR",
        "FUNCEXPR", "GROUPINGFUNC", "GROUPINGSET", "JOINEXPR", "JSONCONSTRUCTOREXPR", "JSONFORMAT",
        "JSONISPREDICATE", "JSONRETURNING", "JSONVALUEEXPR", "MINMAX", "MINMAXEXPR", "NAMEDARGEXPR", "NULLIFEXPR",
        "NULLTEST", "OPEXPR", "PARAM", "RANGETBLFUNCTION", "RANGETBLREF", "RELABELTYPE", "ROW", "ROWCOMPARE",
        "ROWCOMPAREEXPR", "ROWEXPR", "ROWMARKCLAUSE", "SCALARARRAYOPEXPR", "SETOPERATIONSTMT", "SUBSCRIPTINGREF",
        "TABLEFUNC", "TARGETENTRY", "VAR", "WHEN", "WINDOWCLAUSE", "XMLEXPR",
    ]

    /// The same of statements that write, where the checks of all domains are judged.
    private static let plainOfWrites: Set<String> = [
        "COERCETODOMAIN", "COERCETODOMAINVALUE", "INFERENCEELEM", "MERGEACTION", "NEXTVALUEEXPR",
        "ONCONFLICTEXPR", "RETURNINGEXPR", "RETURNINGOPTION", "SETTODEFAULT",
    ]

    private static let refusedNodes: [String: String] = [
        "COERCETODOMAIN": "it casts to a domain", "TABLESAMPLECLAUSE": "it has TABLESAMPLE",
    ]

    /// `date`, `time`, `timestamp`, `timestamptz`, `timetz`: their input may be `now`.
    private static let timeTypes: Set<String> = ["1082", "1083", "1114", "1184", "1266"]

    /// Operators that only hold for values with equal texts: those of `boolean`, integers, `text`, dates, times, `uuid`
    /// and enums.
    private static let identities: Set<String> = [
        "91", "94", "96", "410", "98", "1093", "1320", "2060", "2972", "3516",
    ]

    private mutating func note(_ node: Node) {
        for (field, values) in node.fields {
            if Self.functionFields.contains(field) {
                take(values, into: \.functions)
            } else if field == "aggfnoid" {
                take(values, into: \.aggregates)
            } else if Self.operatorFields.contains(field) {
                take(values, into: \.operators)
            } else if field == "opnos" {
                guard let numbers = values.first?.numbers(of: "o") else {
                    refuse("its rule in the database cannot be read")
                    continue
                }
                operators.formUnion(numbers.compactMap { UInt32(exactly: $0) })
            }
        }
        switch node.name {
        case "QUERY": noteQuery(node)
        case "RANGETBLENTRY", "RTE":
            // Relations, subqueries, joins, functions, VALUES, WITH, no table, groups; not the rows of a trigger.
            if !["0", "1", "2", "3", "4", "5", "6", "8", "9"].contains(node.word("rtekind") ?? "") {
                refuse("it reads from a place that is not understood")
            }
            if node.isGiven("securityQuals") { refuse("row security applies to it") }
            noteRelation(node)
        case "RTEPERMISSIONINFO": noteRelation(node)
        case "SQLVALUEFUNCTION":
            // The first are dates and times, the others of the session: `current_user`.
            if let number = node.word("op").flatMap({ Int($0) }), number > 8 { break }
            readsTime = true
        case "COERCEVIAIO":
            if Self.timeTypes.contains(node.word("resulttype") ?? "") { readsTime = true }
        case "SUBLINK":
            // An array of the rows.
            if node.word("subLinkType") == "6" { dependsOnStoredOrder = true }
        case "SORTGROUPCLAUSE":
            // One of several equal values that look different, such as 1.0 and 1.00, is shown.
            if !Self.identities.contains(node.word("eqop") ?? "") { dependsOnStoredOrder = true }
        case "WINDOWFUNC": dependsOnStoredOrder = true
        case "AGGREF": break
        default:
            if mayWrite, Self.plainOfWrites.contains(node.name) { return }
            if let reason = Self.refusedNodes[node.name] { return refuse(reason) }
            if !Self.plain.contains(node.name) { refuse("it has \(node.name), which is not understood") }
        }
    }

    private mutating func noteQuery(_ query: Node) {
        if mayWrite {
            // SELECT, UPDATE, INSERT, DELETE, MERGE
            if !["1", "2", "3", "4", "5"].contains(query.word("commandType") ?? "") {
                refuse("it is another statement")
            }
        } else if query.word("commandType") != "1" || query.word("hasModifyingCTE") != "false" {
            refuse("it may write")
        }
        if query.isGiven("limitCount") || query.isGiven("limitOffset") || query.word("hasDistinctOn") != "false" {
            dependsOnStoredOrder = true
        }
    }

    private mutating func noteRelation(_ entry: Node) {
        guard let word = entry.word("relid") else { return }
        guard let relation = UInt32(word) else { return refuse("its rule in the database cannot be read") }
        if relation == 0 { return }
        mentioned.insert(relation)
        noteWrite(of: relation, entry)
        guard let columns = entry.values("selectedCols").first else { return }
        guard let bits = columns.numbers(of: "b") else { return refuse("its rule in the database cannot be read") }
        var used = relations[relation] ?? Columns()
        for bit in bits {
            // Numbers are stored above those of system columns, which are negative; 0 is the whole row.
            let number = bit - 7
            if number > 0 { used.numbers.insert(number) } else { used.isWholeRow = true }
        }
        relations[relation] = used
    }

    private mutating func noteWrite(of relation: UInt32, _ entry: Node) {
        guard mayWrite, let privileges = entry.word("requiredPerms").flatMap({ Int($0) }) else { return }
        let (inserts, updates, deletes) = (privileges & 1 != 0, privileges & 4 != 0, privileges & 8 != 0)
        var write = writes[relation] ?? Write()
        write.inserts = write.inserts || inserts
        write.deletes = write.deletes || deletes
        if updates {
            guard let bits = entry.values("updatedCols").first?.numbers(of: "b") else {
                return refuse("what the database made of it cannot be read")
            }
            // See `noteRelation`.
            write.columns.formUnion(bits.map { $0 - 7 })
        }
        if write != Write() { writes[relation] = write }
    }

    private mutating func take(_ values: [RuleTree], into place: WritableKeyPath<RuleFacts, Set<UInt32>>) {
        guard case .word(let word)? = values.first, let number = UInt32(word) else {
            return refuse("its rule in the database cannot be read")
        }
        if number != 0 { self[keyPath: place].insert(number) }
    }

    /// The query in the `FROM` clause of `SELECT … FROM (query) r`.
    private static func subquery(of tree: RuleTree) -> Node? {
        guard case .list(let queries) = tree, case .node("QUERY", let fields)? = queries.first,
            case .list(let entries)? = fields.first(where: { $0.field == "rtable" })?.values.first
        else { return nil }
        for entry in entries {
            guard case .node(_, let fields) = entry,
                case .node("QUERY", let inner)? = fields.first(where: { $0.field == "subquery" })?.values.first
            else { continue }
            return Node(name: "QUERY", fields: inner)
        }
        return nil
    }

    private static func isSingleRow(_ query: Node) -> Bool {
        guard query.word("hasTargetSRFs") == "false", !query.isGiven("groupClause"), !query.isGiven("groupingSets"),
            !query.isGiven("setOperations")
        else { return false }
        if query.word("hasAggs") == "true" { return true }
        guard case .node(_, let fields)? = query.values("jointree").first else { return false }
        return !Node(name: "FROMEXPR", fields: fields).isGiven("fromlist")
    }
}
