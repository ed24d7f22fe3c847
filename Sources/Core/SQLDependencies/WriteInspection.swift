package import SchemaModel

/// Finds out in which tables one SQL text of a mutation changes rows, from the stored body of a function of it and
/// answers of the database.
///
/// Answer `question` until it is `.finished`. Whatever is in doubt is refused: the text may then write anything.
package struct WriteInspection: Sendable {
    package enum Question: Sendable, Equatable {
        /// Describe these of `pg_class`, with what writing them entails; answer with `relationsRead`.
        case relations(Set<UInt32>)
        /// See `TextInspection`.
        case functions(Set<UInt32>, operators: Set<UInt32>)
        case finished(Outcome)
    }

    package enum Outcome: Sendable, Equatable {
        case found(SQLWrites.Finding)
        /// The reason, as part of a sentence.
        case refused(String)
    }

    /// Relations of the statement, of the views in it and of those that foreign keys reach.
    private static let relationsMax = 1_000

    /// The writes by relation, with those that foreign keys cause as far as they are known.
    private var writes: [UInt32: RuleFacts.Write]
    private var functions: Set<UInt32>
    private var operators: Set<UInt32> = []
    private var pending: Set<UInt32> = []
    private var relations: [UInt32: DatabaseRelation] = [:]
    /// The written relations whose expressions were judged.
    private var entered: Set<UInt32> = []
    private var outcome: Outcome?

    /// The functions that the database may call for any text, since values of all types may occur in it: those in
    /// checks of domains, and casts.
    package struct Common: Sendable {
        /// The stored trees of the checks.
        package let expressions: [String]
        package let functions: Set<UInt32>
        /// The key and the digest of both.
        package let definition: (key: String, digest: String)

        package init(expressions: [String], functions: Set<UInt32>, definition: (key: String, digest: String)) {
            self.expressions = expressions
            self.functions = functions
            self.definition = definition
        }
    }

    private let common: Common

    /// - Parameter body: `prosqlbody` of a function that consists of the text.
    package init(body: String, _ common: Common) {
        self.common = common
        functions = common.functions
        let facts = RuleFacts(statement: body)
        writes = facts.writes
        if writes.keys.contains(where: { $0 < DatabaseRelation.firstOther }) {
            refuse("it writes a table of Postgres itself")
        }
        take(facts)
        for expression in common.expressions { take(RuleFacts(statement: expression)) }
    }

    package var question: Question {
        if let outcome { return .finished(outcome) }
        return pending.isEmpty ? .functions(functions, operators: operators) : .relations(pending)
    }

    private mutating func refuse(_ reason: String) { outcome = outcome ?? .refused(reason) }

    private mutating func take(_ facts: RuleFacts) {
        if let refusal = facts.refusal { return refuse(refusal) }
        functions.formUnion(facts.functions.union(facts.aggregates))
        operators.formUnion(facts.operators)
        ask(facts.relations.keys.filter { $0 >= DatabaseRelation.firstOther })
    }

    private mutating func ask(_ numbers: [UInt32]) {
        pending.formUnion(numbers.filter { relations[$0] == nil })
        if relations.count + pending.count > Self.relationsMax { refuse("it uses too many tables and views") }
    }

    /// Handles the descriptions of the relations asked for.
    package mutating func relationsRead(_ found: [UInt32: DatabaseRelation]) {
        guard case .relations(let asked) = question else { return }
        pending = []
        for number in asked.sorted() {
            guard let relation = found[number] else { return refuse("a table that it uses is gone") }
            if let refusal = relation.sideEffectRefusal { return refuse(refusal) }
            relations[number] = relation
            // Views may call functions.
            if let rule = relation.rule { take(RuleFacts(rule, of: number)) }
        }
        follow()
    }

    /// Adds the writes that foreign keys cause, until there are no more or a table must be asked for.
    private mutating func follow() {
        var isGrowing = true
        while isGrowing, outcome == nil {
            isGrowing = false
            for (number, write) in writes.sorted(by: { $0.key < $1.key }) {
                guard let relation = relations[number] else { continue }
                if let refusal = relation.writeRefusal { return refuse(refusal) }
                guard let entailed = relation.writing else { return }
                if entered.insert(number).inserted {
                    for expression in entailed.expressions { take(RuleFacts(statement: expression)) }
                }
                for reference in entailed.references {
                    isGrowing = follow(reference, write, relation) || isGrowing
                }
            }
        }
        ask(Array(writes.keys))
    }

    /// - Returns: whether more is written than was known.
    private mutating func follow(
        _ reference: DatabaseRelation.Reference, _ write: RuleFacts.Write, _ relation: DatabaseRelation
    ) -> Bool {
        let before = writes[reference.child] ?? RuleFacts.Write()
        var after = before
        if write.deletes {
            switch reference.onDelete {
            case .cascade: after.deletes = true
            case .setNull, .setDefault: after.columns.formUnion(reference.childColumns)
            case .nothing, .restrict: break
            }
        }
        let isReached =
            Self.setsAnyColumn(write, of: relation) || !write.columns.isDisjoint(with: reference.columns)
        if isReached, reference.onUpdate.changesRows { after.columns.formUnion(reference.childColumns) }
        if after == before { return false }
        writes[reference.child] = after
        return true
    }

    /// Handles the descriptions of the functions asked for.
    package mutating func functionsRead(_ functions: [DatabaseFunction]) {
        guard case .functions = question else { return }
        if let refusal = functions.lazy.compactMap(\.writeRefusal).first { return refuse(refusal) }
        var definitions = [common.definition.key: common.definition.digest]
        for function in functions {
            if let definition = function.definition { definitions[definition.key] = definition.digest }
        }
        for (number, relation) in relations {
            definitions[relation.definition.key] = relation.definition.digest
            if writes[number] != nil, let definition = relation.writing?.definition {
                definitions[definition.key] = definition.digest
            }
        }
        let tables = writes.compactMap { number, write -> SQLWrites.Table? in
            guard let relation = relations[number] else { return nil }
            return SQLWrites.Table(
                name: relation.name, inserts: write.inserts, deletes: write.deletes,
                updates: Self.updates(write, of: relation))
        }
        outcome = .found(SQLWrites.Finding(tables: tables.sorted { $0.name < $1.name }, definitions: definitions))
    }

    /// Whether updates may set any column: a whole row, or what Postgres computes from the columns that are set.
    private static func setsAnyColumn(_ write: RuleFacts.Write, of relation: DatabaseRelation) -> Bool {
        !write.columns.isEmpty
            && (relation.columns.values.contains(where: \.isGenerated)
                || write.columns.contains { relation.columns[$0] == nil })
    }

    private static func updates(_ write: RuleFacts.Write, of relation: DatabaseRelation) -> SQLWrites.Updates {
        if write.columns.isEmpty { return .none }
        if setsAnyColumn(write, of: relation) { return .anyColumn }
        return .columns(write.columns.compactMap { relation.columns[$0]?.name }.sorted())
    }
}
