import JSON
package import LiveModel
package import SchemaModel

// A nested list shows rows of the rows above it: `movies { reviews_on_movie { text } }` reads the reviews of the movies
// that the run has read. To know these, each object carries the fields that bind the rows below it, as extra members:
// `{"~0":"4e0f…","title":"Alpha"}`. Response keys are names, so no other member begins with "~". `BindingTree.separate`
// removes them before anything else reads the result.

extension ReadSite {
    /// A field of the site whose values are those of a column of the objects at a path of the result.
    package struct Binding: Sendable, Hashable {
        /// The field of the site's table.
        package let field: String
        /// The response keys from the root to the objects; lists are traversed.
        let path: [String]
        /// The field of the objects' table.
        let source: String

        /// The source in the words of explanations: `lots.id`.
        package var sourceText: String { (path + [source]).joined(separator: ".") }
    }
}

extension [RootField] {
    /// The fields with the members that the bindings need.
    package func carrying(_ bindings: [ReadSite.Binding]) -> [RootField] {
        if bindings.isEmpty { return self }
        return map { field in
            let below = bindings.below(field.responseKey)
            let kind: RootField.Kind =
                switch field.kind {
                case .lookup(let lookup):
                    .lookup(Lookup(table: lookup.table, target: lookup.target, object: lookup.object.carrying(below)))
                case .list(let list): .list(list.carrying(below))
                case .native, .remote, .typeName: field.kind
                }
            return RootField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
        }
    }
}

extension [ReadSite.Binding] {
    /// The bindings below a response key, with their paths from there.
    fileprivate func below(_ key: String) -> [ReadSite.Binding] {
        compactMap { binding in
            guard binding.path.first == key else { return nil }
            return ReadSite.Binding(
                field: binding.field, path: Array<String>(binding.path.dropFirst()), source: binding.source)
        }
    }

    /// The fields that bind rows below the objects at the end of the path, sorted.
    fileprivate var sources: [String] { Set(filter(\.path.isEmpty).map(\.source)).sorted() }
}

extension ObjectSelection {
    fileprivate func carrying(_ bindings: [ReadSite.Binding]) -> ObjectSelection {
        if bindings.isEmpty { return self }
        let fields = fields.map { field in
            let below = bindings.below(field.responseKey)
            let kind: ObjectField.Kind =
                switch field.kind {
                case .reference(let reference, let object): .reference(reference, object.carrying(below))
                case .single(let relation, let object): .single(relation, object.carrying(below))
                case .list(let list): .list(list.carrying(below))
                case .column, .typeName, .globalID, .metadata: field.kind
                }
            return ObjectField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
        }
        var object = ObjectSelection(table: table, fields: fields, hasEntityID: hasEntityID)
        object.boundColumns = bindings.sources.compactMap(table.column)
        return object
    }
}

extension RowList {
    fileprivate func carrying(_ bindings: [ReadSite.Binding]) -> RowList {
        guard case .rows(let object) = content else { return self }
        return RowList(source: source, arguments: arguments, content: .rows(object.carrying(bindings)))
    }
}

/// The positions of binding members in a result; lists are traversed transparently.
package struct BindingTree: Sendable {
    /// The name of a member, without its number.
    private static let mark = UInt8(ascii: "~")

    /// The numbers of the bindings that each member of these objects gives values to.
    private var members: [[Int]] = []
    private var below: [(key: [UInt8], tree: BindingTree)] = []

    package init() {}

    package init(_ bindings: [ReadSite.Binding]) {
        self.init(Array(bindings.enumerated().map { (number: $0.offset, binding: $0.element) }))
    }

    private init(_ bindings: [(number: Int, binding: ReadSite.Binding)]) {
        let own = bindings.filter(\.binding.path.isEmpty)
        let sources = own.map(\.binding).sources
        members = sources.map { source in own.filter { $0.binding.source == source }.map(\.number) }
        for key in Set(bindings.compactMap(\.binding.path.first)).sorted() {
            let inner = bindings.compactMap { number, binding in
                [binding].below(key).first.map { (number: number, binding: $0) }
            }
            below.append((Array("\"\(key)\"".utf8), BindingTree(inner)))
        }
    }

    package var isEmpty: Bool { members.isEmpty && below.isEmpty }

    /// The name of the member with a number.
    package static func memberName(_ number: Int) -> String { "~\(number)" }

    /// Removes the members from a result's text.
    /// - Parameter count: the number of bindings.
    /// - Returns: the text without them, and the values of each binding, in the form of `GuardValue`.
    func separate(_ text: [UInt8], count: Int) -> (body: [UInt8], values: [Set<String>]) {
        text.withUnsafeBufferPointer { text in
            var separation = Separation(text, count: count)
            separation.value(self)
            return separation.finish()
        }
    }

    private func below(key: UnsafeBufferPointer<UInt8>) -> BindingTree? {
        for (name, tree) in below where name.count == key.count && key.elementsEqual(name) { return tree }
        return nil
    }

    private struct Separation {
        private var scanner: JSONTextScanner
        /// The text up to `copied`, without the members.
        private var body: [UInt8] = []
        private var copied = 0
        private var values: [Set<String>]

        init(_ text: UnsafeBufferPointer<UInt8>, count: Int) {
            scanner = JSONTextScanner(text)
            body.reserveCapacity(text.count)
            values = Array(repeating: [], count: count)
        }

        mutating func finish() -> (body: [UInt8], values: [Set<String>]) {
            body.append(contentsOf: scanner.text(copied..<scanner.bytes.count))
            return (body, values)
        }

        mutating func value(_ tree: BindingTree) {
            switch scanner.byte {
            case UInt8(ascii: "["):
                _ = scanner.take()
                while !scanner.isAtEnd, scanner.byte != UInt8(ascii: "]") {
                    value(tree)
                    if scanner.byte == UInt8(ascii: ",") { _ = scanner.take() }
                }
                _ = scanner.take()
            case UInt8(ascii: "{"): object(tree)
            default: scanner.skipValue()
            }
        }

        private mutating func object(_ tree: BindingTree) {
            var membersLeft = tree.members.count
            _ = scanner.take()
            while !scanner.isAtEnd, scanner.byte != UInt8(ascii: "}") {
                if membersLeft == 0, tree.below.isEmpty {
                    scanner.skipRest()
                    return
                }
                let keyStart = scanner.index
                scanner.skipValue()
                let key = scanner.text(keyStart..<scanner.index)
                _ = scanner.take()
                if membersLeft > 0, key.count > 3, key[1] == BindingTree.mark {
                    add(scanner.takeValue(), to: tree.members[tree.members.count - membersLeft])
                    membersLeft -= 1
                    if scanner.byte == UInt8(ascii: ",") { _ = scanner.take() }
                    body.append(contentsOf: scanner.text(copied..<keyStart))
                    copied = scanner.index
                    continue
                }
                if let below = tree.below(key: key) { value(below) } else { scanner.skipValue() }
                if scanner.byte == UInt8(ascii: ",") { _ = scanner.take() }
            }
            _ = scanner.take()
        }

        /// Null binds no rows.
        private mutating func add(_ text: UnsafeBufferPointer<UInt8>, to bindings: [Int]) {
            guard let value = try? JSONParser.parse(Array(text)), !value.isNull else { return }
            let guardValue = GuardValue.text(value)
            for number in bindings { values[number].insert(guardValue) }
        }
    }
}
