import FreshetStore
import FreshetTypes
import JSON
import SeededRandom
import TestSupport
import Testing

/// Random writes, changes and reads against a store in the plainest form: all documents as they came, and for each row
/// the newest fields.
@Suite struct StoreRandomTests {
    private struct Model {
        /// Row ids in order, each with the names of the selected fields, by result.
        var results: [String: [(id: String, names: [String])]] = [:]
        var fields: [String: [String: Int64]] = [:]
        var deleted: Set<String> = []
        /// `sentAt`: the step at which the mutation was first sent.
        var layers: [(id: String, row: String, name: String, value: Int64?, sentAt: Int?)] = []
        /// The step at which the server last sent a row.
        var written: [String: Int] = [:]

        func document(_ name: String) -> JSONValue? {
            guard let rows = results[name] else { return nil }
            var elements: [JSONValue] = []
            for (id, names) in rows {
                if deleted.contains(id) { continue }
                var fields = fields[id] ?? [:]
                var isGone = false
                for layer in layers where layer.row == id {
                    if let value = layer.value { fields[layer.name] = value } else { isGone = true }
                }
                if isGone { continue }
                var object: JSONObject = ["id": .string(id)]
                for name in names { object[name] = fields[name].map(JSONValue.int) ?? .null }
                elements.append(.object(object))
            }
            return ["lots": .array(elements)]
        }

        /// Rows that no result shows are forgotten.
        mutating func forget() {
            let shown = Set(results.values.flatMap { $0.map(\.id) })
            fields = fields.filter { shown.contains($0.key) }
            deleted.formIntersection(shown)
        }
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
            func hear(_ outcome: StoreOutcome) {
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
            for step in 0..<20 {
                let name = "R\(random.below(3))"
                let row = "r\(random.below(4))"
                switch random.below(8) {
                case 0, 1, 2:
                    var rows: [(id: String, names: [String])] = []
                    var elements: [JSONValue] = []
                    for id in 0..<4 where random.below(2) == 0 {
                        let names = ["p", "q", "s"].filter { _ in random.below(2) == 0 }
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
                    let document: JSONValue = ["lots": .array(elements)]
                    let tag = random.below(3) > 0 ? "t\(step)" : nil
                    if let tag { named[tag] = document }
                    hear(store.write(key(name), document, shape, revision: "1", atMs: 0, tag: tag))
                    model.forget()
                case 3:
                    let value: Int64? = random.below(4) == 0 ? nil : Int64(random.below(9))
                    model.layers.append(("m\(step)", row, "p", value, nil))
                    let fields = value.map { JSONObject([("p", JSONValue.int($0))]) }
                    hear(store.apply("m\(step)", [OptimisticChange(type: "Lot", key: [.string(row)], fields: fields)]))
                case 4:
                    guard !model.layers.isEmpty else { continue }
                    let layer = model.layers.remove(at: random.below(model.layers.count))
                    if random.below(2) == 0 {
                        hear(store.revert(layer.id))
                    } else {
                        hear(store.commit(layer.id))
                        // A row that the server has sent since is as it says.
                        if model.written[layer.row, default: 0] > layer.sentAt ?? .max { break }
                        if let value = layer.value {
                            if model.fields[layer.row] != nil { model.fields[layer.row]?[layer.name] = value }
                        } else if model.results.values.contains(where: { $0.contains { $0.id == layer.row } }) {
                            model.deleted.insert(layer.row)
                        }
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
                    #expect(store.invalidate(selection) == dropped.sorted().map(key), "seed \(seed), step \(step)")
                    model.forget()
                    // It is no event of the rows.
                    told = told.filter { store.fields(of: $0.key) != nil }
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
                    // What has a tag is what the server sent under it, whatever came since.
                    if let (tag, document) = store.tagged(key(name), revision: "1") {
                        #expect(document == named[tag], "seed \(seed), step \(step), \(name)")
                    }
                }
            }
            #expect(store.bytes >= 0)
            for name in ["R0", "R1", "R2"] { _ = store.remove(key(name)) }
            #expect(store.bytes == 0 && store.entityCount == 0, "seed \(seed)")
        }
    }
}
