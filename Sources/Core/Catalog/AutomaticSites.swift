import JSON
import LiveModel
package import Operations
package import Refresh
package import SchemaModel

/// How exactly a site tells which changes of its table concern a live query.
package enum SiteClass: String, Sendable {
    /// The values of fields tell it.
    case exact
    /// The rows above tell it, as the last run read them.
    case keys
    /// The rows shown and the end of the list tell it, as the last run read them.
    case window
    /// Every new row counts, and every change of the fields.
    case table
}

/// The places where a stored query reads rows whose changes refresh it by themselves.
package struct AutomaticSites: Sendable {
    package struct Site: Sendable {
        package let form: RowSite
        package let read: ReadSite
        /// The conditions on rows, if they are the same for all live queries.
        let fixedEntry: AutomaticRules.Site.Entry?

        package var siteClass: SiteClass {
            if !form.guardFields.isEmpty || form.shown == nil && form.isConditional { return .exact }
            if form.boundField != nil { return .keys }
            return read.shown?.window == nil ? .table : .window
        }

        /// The fields of a row before its change that decide whether the change concerns the site. Where results show
        /// the rows, the key tells whether it was one of them.
        package var formerFields: Set<String> {
            guard let shown = read.shown, case .constant(0) = shown.offset else {
                return Set(form.comparedFields).union(read.shown == nil ? read.filter?.fields ?? [] : [])
            }
            return Set(shown.key)
        }

        /// The conditions that a row must satisfy before or after its change: `lotId = $lotId`, `points > $p`,
        /// `lotId of lots.id`.
        package var guardTexts: [String] {
            read.guards.map { "\($0.field) \($0.isMember ? "in" : "=") \($0.operand.nameInExplanations)" }
                + (read.filter.map { [$0.text] } ?? [])
                + (read.binding.map { ["\($0.field) of \($0.sourceText)"] } ?? [])
                + (read.namedBy.map { ["\($0.input.name) names \($0.table == read.table ? "it" : $0.table)"] } ?? [])
        }
    }

    /// The meaning of a change of the rows.
    package enum Use: Sendable {
        case refreshes
        /// It is only counted.
        case isObserved
    }

    package let sites: [Site]
    private let inputs: [GivenInput]
    private let schema: Schema
    package let use: Use
    /// The place where changes are noticed.
    package let source: AutomaticRefresh.Source
    /// Whether the query may read any table, so that every change refreshes it.
    package let mayReadAnything: Bool

    /// The sites in the words of the admin API: `bid where lotId = $id`.
    package var texts: [String] {
        sites.map { site in
            site.form.table
                + (site.guardTexts.isEmpty ? "" : " where \(site.guardTexts.joined(separator: ", "))")
        }
    }

    init(
        _ sites: ReadSites, operation: OperationReference, version: Digest, use: Use,
        source: AutomaticRefresh.Source, schema: Schema
    ) {
        self.schema = schema
        inputs = sites.inputs
        self.use = use
        self.source = source
        mayReadAnything = sites.mayReadAnything
        self.sites = sites.all.enumerated().map { number, site in
            Site(
                form: RowSite(
                    id: .init(operation: operation, version: version, number: number), table: site.table,
                    guardFields: site.guards.map(\.field), boundField: site.binding?.field,
                    shown: site.shown.map { shown in
                        RowSite.Shown(key: shown.key, deciding: shown.deciding, order: shown.window?.terms ?? [])
                    }, isConditional: site.filter != nil, fields: site.fields, fieldsFiltered: site.fieldsFiltered,
                    namesFields: site.fixedFields != nil || site.shown?.fixedDeciding != nil),
                read: site,
                fixedEntry: site.hasFixedEntry
                    ? site.entry(
                        Invocation(variables: JSONObject(), auth: nil, nowMs: 0, operationName: ""), .init(), schema)
                    : nil)
        }
    }

    /// The sites of which results tell the rows read, in order.
    var sitesWithRows: [ReadSite] { mayReadAnything ? [] : sites.map(\.read).filter(\.readsRows) }

    /// Returns what the filters and orders among the variables read.
    private func inputReads(_ variables: Variables) -> GivenInput.Reads {
        inputs.reduce(into: GivenInput.Reads()) { $0.formUnion($1.reads(variables, schema: schema)) }
    }

    /// Returns the rules of a live query. A guard whose value is null or cannot be computed tests nothing.
    func rules(_ invocation: Invocation) -> AutomaticRules {
        let isObserved = use == .isObserved
        let heedsMutations = source != .wal
        if mayReadAnything {
            return AutomaticRules(
                sites: [], mayReadAnything: true, isObserved: isObserved, heedsMutations: heedsMutations)
        }
        let named = inputReads(invocation.variables)
        let read = sites.filter { $0.read.namedBy.map { named.tables.contains($0.table) } ?? true }
        return AutomaticRules(
            sites: read.map { site in
                AutomaticRules.Site(
                    form: site.form, values: site.read.guards.map { $0.values(invocation) },
                    entry: site.fixedEntry ?? site.read.entry(invocation, named, schema))
            }, mayReadAnything: false, isObserved: isObserved, heedsMutations: heedsMutations)
    }
}

extension ReadSite.Guard {
    /// Returns the values for a live query.
    fileprivate func values(_ invocation: Invocation) -> AutomaticRules.Values {
        guard let value = try? operand.value(in: invocation), !value.isNull else { return .any }
        guard isMember else { return .one(GuardValue.text(value)) }
        guard case .array(let elements) = value else { return .any }
        // Nothing is equal to a null element.
        return AutomaticRules.Values(elements.filter { !$0.isNull }.map(GuardValue.text))
    }
}

extension ReadSite {
    /// Whether the conditions are the same for all live queries.
    fileprivate var hasFixedEntry: Bool {
        guard filter?.isFixed ?? true, fixedFields == nil else { return false }
        guard let shown else { return true }
        guard shown.offset.isConstant, shown.fixedDeciding == nil else { return false }
        guard let window = shown.window else { return true }
        return window.limit.isConstant
            && window.order.allSatisfy { if case .constant = $0.direction { true } else { false } }
    }

    /// Returns the conditions on rows for a live query; nil if there are none.
    /// - Parameter named: what filters and orders from variables read.
    fileprivate func entry(
        _ invocation: Invocation, _ named: GivenInput.Reads, _ schema: Schema
    ) -> AutomaticRules.Site.Entry? {
        let (condition, isWhole) = filter?.condition(invocation, schema: schema) ?? (nil, true)
        func with(_ fields: Set<String>?) -> Set<String>? { fields?.union(named.fields[table] ?? []) }
        let fields = with(fixedFields)
        guard let shown else {
            if condition == nil, isWhole, fields == nil { return nil }
            return AutomaticRules.Site.Entry(condition: condition, isWhole: isWhole, fields: fields)
        }
        var list: ListWindow?
        if let window = shown.window, let limit = window.limit.value(in: invocation) {
            list = ListWindow(limit: limit, isDescending: window.order.map { $0.direction.isDescending(invocation) })
        }
        return AutomaticRules.Site.Entry(
            condition: condition, isWhole: isWhole, window: list, hasOffset: shown.offset.value(in: invocation) != 0,
            fields: fields,
            deciding: with(shown.fixedDeciding))
    }
}

extension ReadSite.Window {
    fileprivate var terms: [RowSite.SortTerm] {
        order.prefix(ListWindow.termsMax).compactMap { term in
            SortKind(term.column.type.scalar).map { RowSite.SortTerm(field: term.column.field, kind: $0) }
        }
    }
}

extension OrderTerm.Direction {
    fileprivate func isDescending(_ invocation: Invocation) -> Bool {
        switch self {
        case .constant(let order): order == .descending
        case .variable(let name): invocation.variables.satisfies(.equals(name, SortOrder.descending.rawValue))
        }
    }
}

extension Bound {
    fileprivate var isConstant: Bool { if case .constant = self { true } else { false } }

    /// The number of rows; nil if it cannot be computed.
    fileprivate func value(in invocation: Invocation) -> Int? {
        switch self {
        case .constant(let count): return Int(count)
        case .operand(let operand, let whenAbsent):
            guard let value = try? operand.value(in: invocation) else { return nil }
            return value.isNull ? Int(whenAbsent) : Int(GuardValue.text(value))
        }
    }
}

extension SortKind {
    /// Nil for types whose texts do not tell the order.
    init?(_ scalar: ScalarType) {
        switch scalar {
        case .int, .int64: self = .number
        case .uuid: self = .uuid
        case .boolean: self = .boolean
        case .date: self = .date
        case .timestamp: self = .timestamp
        case .string, .enumeration, .float, .any, .vector: return nil
        }
    }
}

extension AutomaticSites.Site {
    /// The fields whose values events must tell for the site.
    fileprivate var recordedFields: RecordedFields {
        let order = read.shown?.window?.order.map(\.column.field) ?? []
        var recorded = RecordedFields(
            compared: Set(form.comparedFields), key: Set(read.shown?.key ?? []), latter: Set(order))
        // Where the result shows the rows, those before a change are known by their keys.
        if read.shown == nil {
            recorded.compared.formUnion(read.filter?.fields ?? [])
        } else {
            recorded.latter.formUnion(read.filter?.fields ?? [])
            recorded.filtered = read.fieldsFiltered
        }
        return recorded
    }
}

extension [AutomaticSites.Site] {
    /// The fields, by table, whose values events must tell.
    var recordedFields: [String: RecordedFields] {
        var fields: [String: RecordedFields] = [:]
        for site in self {
            let recorded = site.recordedFields
            if !recorded.isEmpty { fields[site.form.table, default: RecordedFields()].formUnion(recorded) }
        }
        return fields
    }
}

extension StoredOperation {
    /// The SQL names of the tables in which a mutation may write, also by cascades; nil if it may be any.
    package var tablesWritten: Set<String>? {
        readWriteSet.mayWriteAnything ? nil : readWriteSet.tablesWritten.union(readWriteSet.tablesFollowing)
    }
}
