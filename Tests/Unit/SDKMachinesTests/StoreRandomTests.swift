import FreshetStore
import FreshetTypes
import JSON
import SeededRandom
import TestSupport
import Testing

/// Random writes, changes and reads against a store in the plainest form: all documents as they came, and for each row
/// the newest fields.
@Suite struct StoreRandomTests {
    private typealias Row = (id: String, names: [String])

    private struct Layer {
        let id: String
        let row: String
        /// Nil: the row goes away.
        let fields: [String: Int64]?
        /// The result to whose list the row is added.
        var target: String?
        var place = Place.end
        var known: [String: Int64] = [:]
        /// The step at which the mutation was first sent.
        var sentAt: Int?

        /// The list with the row, unless it has it.
        func adding(to rows: [Row]) -> [Row] {
            if rows.contains(where: { $0.id == row }) { return rows }
            let names = Set(known.keys).union((fields ?? [:]).keys).union(rows.first?.names ?? [])
            var index = rows.count
            switch place {
            case .start: index = 0
            case .end: break
            case .before(let other): index = rows.firstIndex { $0.id == other } ?? index
            case .after(let other): index = rows.firstIndex { $0.id == other }.map { $0 + 1 } ?? index
            }
            var longer = rows
            longer.insert((row, names.sorted()), at: index)
            return longer
        }
    }

    private enum Place {
        case start, end
        case before(String), after(String)

        init(_ random: inout SeededRandom) {
            let other = "r\(random.below(4))"
            self =
                switch random.below(4) {
                case 0: .start
                case 1: .end
                case 2: .before(other)
                default: .after(other)
                }
        }
    }

    private struct Model {
        /// Rows in order, each with the names of the selected fields, by result.
        var results: [String: [Row]] = [:]
        /// The fields of the rows that results have.
        var fields: [String: [String: Int64]] = [:]
        var deleted: Set<String> = []
        var layers: [Layer] = []
        /// The step at which the server last sent a row, and a result.
        var written: [String: Int] = [:]
        var listed: [String: Int] = [:]

        /// The fields of a row as it is shown; nil if it is not.
        func shown(_ row: String) -> [String: Int64]? {
            var shown = deleted.contains(row) ? nil : fields[row]
            for layer in layers where layer.row == row {
                if let target = layer.target, results[target] != nil {
                    shown = layer.known.merging(shown ?? [:]) { $1 }
                }
                shown = layer.fields.flatMap { new in shown?.merging(new) { $1 } }
            }
            return shown
        }

        func document(_ name: String) -> JSONValue? {
            guard var rows = results[name] else { return nil }
            for layer in layers where layer.target == name { rows = layer.adding(to: rows) }
            var elements: [JSONValue] = []
            for (id, names) in rows {
                guard let fields = shown(id) else { continue }
                var object: JSONObject = ["id": .string(id)]
                for name in names { object[name] = fields[name].map(JSONValue.int) ?? .null }
                elements.append(.object(object))
            }
            return ["lots": .array(elements)]
        }

        mutating func commit(_ layer: Layer) {
            let sentAt = layer.sentAt ?? .max
            // What the server has sent since is as it says.
            let isDue = fields[layer.row] == nil || written[layer.row, default: 0] < sentAt
            if let target = layer.target, let rows = results[target], listed[target, default: 0] < sentAt {
                let longer = layer.adding(to: rows)
                if longer.count > rows.count {
                    let expected = layer.known.merging(layer.fields ?? [:]) { $1 }
                    fields[layer.row] = expected.merging(fields[layer.row] ?? [:]) { $1 }
                    results[target] = longer
                }
            }
            guard isDue, let former = fields[layer.row] else { return }
            if let new = layer.fields {
                fields[layer.row] = former.merging(new) { $1 }
                if layer.target != nil { deleted.remove(layer.row) }
            } else {
                deleted.insert(layer.row)
            }
        }

        /// Rows that no result shows are forgotten.
        mutating func forget() {
            let shown = Set(results.values.flatMap { $0.map(\.id) })
            fields = fields.filter { shown.contains($0.key) }
            written = written.filter { shown.contains($0.key) }
            deleted.formIntersection(shown)
        }
    }

    /// The change in the form in which it is kept.
    private static func change(_ layer: Layer) -> OptimisticChange {
        func object(_ fields: [String: Int64]) -> JSONObject {
            JSONObject(fields.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.int($0.value)) })
        }
        func id(_ row: String) -> EntityID { EntityID(type: "Lot", key: [.string(row)]) }
        guard let target = layer.target else {
            return OptimisticChange(type: "Lot", key: [.string(layer.row)], fields: layer.fields.map(object))
        }
        let place: RowInsertion.Place =
            switch layer.place {
            case .start: .start
            case .end: .end
            case .before(let row): .before(id(row))
            case .after(let row): .after(id(row))
            }
        var fields = object(layer.fields ?? [:])
        fields["id"] = .string(layer.row)
        return OptimisticChange(
            type: "Lot", key: [.string(layer.row)], fields: fields,
            insertion: RowInsertion(
                result: ResultKey(operation: target, variables: "{}"), revision: "1", list: "lots", place: place,
                known: object(layer.known)))
    }

    @Test func theStoreReadsLikeItsModel() {
        let shape: EntityShape = .object(["lots": .entity("Lot", key: ["id"])])
        for seed in 0..<UInt64(10_000 * FuzzLength.factor) {
            var random = SeededRandom(seed: seed)
            var store = StoreMachine(bytesMax: .max)
            var model = Model()
            /// The documents that the server sent, by tag.
            var named: [String: JSONValue] = [:]
            /// The rows according to the events.
            var told: [EntityID: JSONObject] = [:]
            func key(_ name: String) -> ResultKey { ResultKey(operation: name, variables: "{}") }
            func id(_ row: String) -> EntityID { EntityID(type: "Lot", key: [.string(row)]) }
            /// The results that read differently, as the store says.
            var changed: Set<ResultKey> = []
            func hear(_ outcome: StoreOutcome) {
                changed.formUnion(outcome.changed)
                for event in outcome.events {
                    let id = EntityID(type: "Lot", key: event.record.key)
                    let former = told[id]
                    switch event.kind {
                    case .created: #expect(former == nil, "seed \(seed)")
                    case .updated(let fields):
                        let changed = ["id", "p", "q", "s"].filter { former?[$0] != event.record.fields[$0] }
                        #expect(former != nil && fields.sorted() == changed && !fields.isEmpty, "seed \(seed)")
                    case .deleted: #expect(former == event.record.fields, "seed \(seed)")
                    }
                    told[id] = event.kind == .deleted ? nil : event.record.fields
                }
            }
            /// The documents after the step before.
            var documents: [String: JSONValue] = [:]
            for step in 0..<24 {
                changed = []
                let name = "R\(random.below(3))"
                let row = "r\(random.below(4))"
                switch random.below(9) {
                case 0, 1, 2:
                    var rows: [(id: String, names: [String])] = []
                    var elements: [JSONValue] = []
                    for id in 0..<4 where random.below(2) == 0 {
                        let names = ["p", "q", "s"].filter { _ in random.below(2) == 0 }
                        if model.fields["r\(id)"] == nil { model.fields["r\(id)"] = [:] }
                        var object: JSONObject = ["id": .string("r\(id)")]
                        for field in names {
                            let value = Int64(random.below(3))
                            object[field] = .int(value)
                            model.fields["r\(id)", default: [:]][field] = value
                        }
                        model.deleted.remove("r\(id)")
                        model.written["r\(id)"] = step
                        rows.append(("r\(id)", names))
                        elements.append(.object(object))
                    }
                    model.results[name] = rows
                    model.listed[name] = step
                    let document: JSONValue = ["lots": .array(elements)]
                    let tag = random.below(3) > 0 ? "t\(step)" : nil
                    if let tag { named[tag] = document }
                    hear(store.write(key(name), document, shape, revision: "1", atMs: 0, tag: tag))
                    model.forget()
                case 3:
                    var layer = Layer(
                        id: "m\(step)", row: row, fields: random.below(4) == 0 ? nil : ["p": Int64(random.below(9))])
                    if layer.fields != nil, random.below(2) == 0 {
                        layer.target = name
                        layer.place = Place(&random)
                        if random.below(2) == 0 { layer.known = ["s": Int64(random.below(9))] }
                    }
                    model.layers.append(layer)
                    hear(store.apply(layer.id, [Self.change(layer)]))
                case 4:
                    guard !model.layers.isEmpty else { continue }
                    let layer = model.layers.remove(at: random.below(model.layers.count))
                    if random.below(2) == 0 {
                        hear(store.revert(layer.id))
                    } else {
                        hear(store.commit(layer.id))
                        model.commit(layer)
                    }
                case 5:
                    guard !model.layers.isEmpty else { continue }
                    let index = random.below(model.layers.count)
                    model.layers[index].sentAt = model.layers[index].sentAt ?? step
                    store.sending(model.layers[index].id)
                case 6:
                    model.results[name] = nil
                    hear(store.remove(key(name)))
                    model.forget()
                case 7:
                    // A partial result changes nothing of the others.
                    let elements = (0..<4).map { JSONValue.object(["id": .string("r\($0)"), "p": .int(Int64(step))]) }
                    store.showPartial(
                        key(name), ["lots": .array(elements)], shape, revision: "1", failed: ["q"])
                    if random.below(4) == 0 { store.dropPartial(key(name)) }
                default:
                    var selection = StoreSelection()
                    switch random.below(3) {
                    case 0: selection.operations = [name]
                    case 1: selection.entities = [EntityID(type: "Lot", key: [.string(row)])]
                    default: selection.isEverything = true
                    }
                    let dropped = model.results.filter { result in
                        selection.isEverything || selection.operations.contains(result.key)
                            || selection.entities == [EntityID(type: "Lot", key: [.string(row)])]
                                && result.value.contains { $0.id == row }
                    }.map(\.key)
                    for name in dropped { model.results[name] = nil }
                    let outcome = store.invalidate(selection)
                    #expect(outcome.evicted == dropped.sorted().map(key), "seed \(seed), step \(step)")
                    #expect(outcome.events == [], "it is no event of the rows")
                    changed.formUnion(outcome.changed)
                    model.forget()
                    for id in told.keys { told[id] = store.fields(of: id) }
                }
                for row in ["r0", "r1", "r2", "r3"] where told[id(row)] != store.fields(of: id(row)) {
                    let (told, shown) = (told[id(row)], store.fields(of: id(row)))
                    Issue.record("seed \(seed), step \(step), \(row): told \(told as Any), shown \(shown as Any)")
                    return
                }
                for name in ["R0", "R1", "R2"] {
                    let read = store.read(key(name), revision: "1")?.document
                    #expect(read == model.document(name), "seed \(seed), step \(step), \(name)")
                    if read != model.document(name) { return }
                    // Its followers learn of it.
                    if let former = documents[name], let read, former != read {
                        #expect(changed.contains(key(name)), "seed \(seed), step \(step), \(name)")
                    }
                    documents[name] = read
                    // What has a tag is what the server sent under it, whatever came since.
                    if let (tag, document) = store.tagged(key(name), revision: "1") {
                        #expect(document == named[tag], "seed \(seed), step \(step), \(name)")
                    }
                }
            }
            #expect(store.bytes >= 0)
            for name in ["R0", "R1", "R2"] {
                store.dropPartial(key(name))
                _ = store.remove(key(name))
            }
            #expect(store.bytes == 0 && store.entityCount == 0, "seed \(seed)")
        }
    }
}
