package import SchemaModel

/// Finds out what one SQL text reads, from the rule of a view of it and answers of the database.
///
/// Answer `question` until it is `.finished`. Whatever is in doubt is refused: the text may then read anything.
package struct TextInspection: Sendable {
    package enum Question: Sendable, Equatable {
        /// Describe these of `pg_class`; answer with `relationsRead`.
        case relations(Set<UInt32>)
        /// Describe these of `pg_proc`, the functions of these operators, and those of which an aggregate consists;
        /// answer with `functionsRead`.
        case functions(Set<UInt32>, operators: Set<UInt32>)
        case finished(Outcome)
    }

    package enum Outcome: Sendable, Equatable {
        case found(SQLReads.Finding)
        /// The reason, as part of a sentence.
        case refused(String)
    }

    /// Views that read each other.
    private static let relationsMax = 1_000

    private let tables: [String: Table]
    private var pending: Set<UInt32> = []
    private var columns: [UInt32: RuleFacts.Columns] = [:]
    private var relations: [UInt32: DatabaseRelation] = [:]
    private var facts: [RuleFacts] = []
    private let hasSingleRow: Bool
    private let mentionsNow: Bool
    private var outcome: Outcome?

    /// - Parameters:
    ///   - text: the SQL text.
    ///   - rule: the stored rule of `SELECT 1 FROM (text) r`.
    ///   - view: the number of that view.
    ///   - schema: the project's, whose tables events tell of.
    package init(text: String, rule: String, view: UInt32, schema: Schema) {
        tables = Dictionary(schema.tables.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let read = RuleFacts(rule, of: view)
        hasSingleRow = read.hasSingleRow
        // Postgres replaces such a constant when it reads the text.
        let lower = text.lowercased()
        mentionsNow = ["'now", "'today", "'tomorrow", "'yesterday"].contains(where: lower.contains)
        take(read)
    }

    package var question: Question {
        if let outcome { return .finished(outcome) }
        if !pending.isEmpty { return .relations(pending) }
        let functions = facts.reduce(into: Set<UInt32>()) { $0.formUnion($1.functions.union($1.aggregates)) }
        return .functions(functions, operators: facts.reduce(into: []) { $0.formUnion($1.operators) })
    }

    private mutating func take(_ read: RuleFacts) {
        if let refusal = read.refusal { return refuse(refusal) }
        facts.append(read)
        for (relation, used) in read.relations {
            guard relation >= DatabaseRelation.firstOther else { return refuse("it reads a table of Postgres itself") }
            columns[relation, default: RuleFacts.Columns()].numbers.formUnion(used.numbers)
            if used.isWholeRow { columns[relation]?.isWholeRow = true }
            if relations[relation] == nil { pending.insert(relation) }
        }
        if relations.count + pending.count > Self.relationsMax { refuse("it reads too many views") }
    }

    private mutating func refuse(_ reason: String) { outcome = outcome ?? .refused(reason) }

    /// Handles the descriptions of the relations asked for.
    package mutating func relationsRead(_ found: [UInt32: DatabaseRelation]) {
        guard case .relations(let asked) = question else { return }
        pending = []
        for number in asked.sorted() {
            guard let relation = found[number] else { return refuse("a table that it reads is gone") }
            if let refusal = relation.refusal { return refuse(refusal) }
            relations[number] = relation
            if let rule = relation.rule { take(RuleFacts(rule, of: number)) }
        }
    }

    /// Handles the descriptions of the functions asked for.
    package mutating func functionsRead(_ functions: [DatabaseFunction]) {
        guard case .functions = question else { return }
        if let refusal = functions.lazy.compactMap(\.refusal).first { return refuse(refusal) }
        var definitions: [String: String] = [:]
        for function in functions {
            if let definition = function.definition { definitions[definition.key] = definition.digest }
        }
        var tables: [String: [String]?] = [:]
        for (number, relation) in relations {
            definitions[relation.definition.key] = relation.definition.digest
            if relation.rule != nil { continue }
            guard relation.isInSchema, let table = self.tables[relation.name] else {
                return refuse("no type of the schema is the table \(relation.name)")
            }
            tables[relation.name] = .some(names(columns[number] ?? .init(isWholeRow: true), of: relation, table))
        }
        let dependsOnOrder =
            facts.contains(where: \.dependsOnStoredOrder) || functions.contains { $0.isAggregate && !$0.isUnordered }
        outcome = .found(
            SQLReads.Finding(
                tables: tables.sorted { $0.key < $1.key }.map { SQLReads.Table(name: $0.key, columns: $0.value) },
                storedOrder: dependsOnOrder ? .rows : hasSingleRow ? .none : .order,
                readsTime: mentionsNow || facts.contains(where: \.readsTime) || functions.contains(where: \.readsTime),
                definitions: definitions))
    }

    /// Returns the names of the columns; nil for all, also if one is a column of which events do not tell every change.
    private func names(
        _ columns: RuleFacts.Columns, of relation: DatabaseRelation, _ table: Table
    ) -> [String]? {
        if columns.isWholeRow { return nil }
        var names: [String] = []
        for number in columns.numbers {
            guard let column = relation.columns[number], !column.isGenerated,
                table.columns.contains(where: { $0.name == column.name })
            else { return nil }
            names.append(column.name)
        }
        return names.sorted()
    }
}
