package import JSON

/// The place of a row that a mutation is expected to add to a list at the top of a result.
package struct RowInsertion: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        case start
        case end
        /// The place before or after another row; the end, if the list lacks that.
        case before(EntityID)
        case after(EntityID)
    }

    package let result: ResultKey
    /// That of the result's operation: a row is not added to a result of another form.
    package let revision: String
    /// The response key of the list.
    package let list: String
    package let place: Place
    /// The row's fields as they were known: they count where nothing newer is known.
    package let known: JSONObject
    /// Objects with parts of the key, by response key.
    package let members: JSONObject

    package init(
        result: ResultKey, revision: String, list: String, place: Place, known: JSONObject = JSONObject(),
        members: JSONObject = JSONObject()
    ) {
        self.result = result
        self.revision = revision
        self.list = list
        self.place = place
        self.known = known
        self.members = members
    }

    /// `{"operation","variables","revision","list","place","beside","known","members"}`, for a file.
    package var stored: JSONValue {
        var (name, beside) = ("", JSONValue.null)
        switch place {
        case .start: name = "start"
        case .end: name = "end"
        case .before(let id): (name, beside) = ("before", .string(id.description))
        case .after(let id): (name, beside) = ("after", .string(id.description))
        }
        return [
            "operation": .string(result.operation), "variables": .string(result.variables),
            "revision": .string(revision), "list": .string(list), "place": .string(name), "beside": beside,
            "known": .object(known), "members": .object(members),
        ]
    }

    /// Nil for anything else than `stored` makes.
    package init?(stored value: JSONValue) {
        guard let operation = value["operation"]?.stringValue, let variables = value["variables"]?.stringValue,
            let revision = value["revision"]?.stringValue, let list = value["list"]?.stringValue,
            let known = value["known"]?.objectValue, let members = value["members"]?.objectValue
        else { return nil }
        let place: Place
        switch (value["place"]?.stringValue, value["beside"]?.stringValue) {
        case ("start", _): place = .start
        case ("end", _): place = .end
        case ("before", let id?): place = .before(EntityID(id))
        case ("after", let id?): place = .after(EntityID(id))
        default: return nil
        }
        self.init(
            result: ResultKey(operation: operation, variables: variables), revision: revision, list: list,
            place: place, known: known, members: members)
    }
}

extension ResultTree {
    /// The elements of the list with this name at the top; nil if there is none.
    func list(_ name: String) -> [ResultTree]? {
        guard case .object(let members) = self,
            case .list(let elements)? = members.first(where: { $0.name == name })?.tree
        else { return nil }
        return elements
    }

    /// The tree with a row more; nil if it has no such list, or the list has the row.
    func adding(_ id: EntityID, _ fields: JSONObject, _ insertion: RowInsertion) -> ResultTree? {
        guard case .object(var members) = self,
            let index = members.firstIndex(where: { $0.name == insertion.list }),
            case .list(var elements) = members[index].tree, !elements.contains(where: { $0.isRow(id) })
        else { return nil }
        // With the fields of the other rows, which others may bring.
        var names: [String] = []
        for name in Array(insertion.known.keys) + Array(fields.keys) + (elements.first?.fields ?? [])
        where !names.contains(name) && !insertion.members.contains(name) {
            names.append(name)
        }
        let row = ResultTree.row(
            id, fields: names, members: insertion.members.map { Member(name: $0.key, tree: .value($0.value)) })
        elements.insert(row, at: Self.index(insertion.place, in: elements))
        members[index] = Member(name: insertion.list, tree: .list(elements))
        return .object(members)
    }

    private func isRow(_ id: EntityID) -> Bool {
        if case .row(id, _, _) = self { true } else { false }
    }

    private var fields: [String] {
        if case .row(_, let fields, _) = self { fields } else { [] }
    }

    private static func index(_ place: RowInsertion.Place, in elements: [ResultTree]) -> Int {
        switch place {
        case .start: 0
        case .end: elements.count
        case .before(let id): elements.firstIndex { $0.isRow(id) } ?? elements.count
        case .after(let id): elements.firstIndex { $0.isRow(id) }.map { $0 + 1 } ?? elements.count
        }
    }
}
