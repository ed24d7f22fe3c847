import Catalog
import Execution
import JSON
import LiveModel
import Postgres
import SchemaMigration
import SchemaModel
import SeededRandom
import Testing

extension Language {
    /// Random lists against a naive evaluation of the same rows in memory: order, limit, offset, distinct, groups and
    /// what they count.
    @Suite struct ListProperties {
        private struct Row {
            let no: Int
            let a: Int?
            let b: String?

            /// JSON text of a field.
            func text(_ field: String) -> String {
                switch field {
                case "no": String(no)
                case "a": a.map(String.init) ?? "null"
                default: b.map { "\"\($0)\"" } ?? "null"
                }
            }
        }

        private static let sdl = "type Thing @table(key: \"no\") { no: Int! a: Int b: String }"

        private struct Generator {
            var random: SeededRandom

            mutating func number(_ below: Int) -> Int { Int(random.next() % UInt64(below)) }
            mutating func pick<T>(_ values: [T]) -> T { values[number(values.count)] }
            mutating func some(_ values: [String]) -> [String] { values.filter { _ in number(2) == 0 } }
        }

        /// Compares as Postgres does: null last, in descending order first.
        private static func compare(_ left: Row, _ right: Row, _ field: String) -> Int {
            func order<T: Comparable>(_ left: T?, _ right: T?) -> Int {
                guard let left else { return right == nil ? 0 : 1 }
                guard let right else { return -1 }
                return left < right ? -1 : left == right ? 0 : 1
            }
            switch field {
            case "no": return order(left.no, right.no)
            case "a": return order(left.a, right.a)
            default:
                // By bytes, as the collation of the tests' server has it.
                return order(
                    left.b.map { Array($0.utf8).map(Int.init) }.map(Key.init),
                    right.b.map { Array($0.utf8).map(Int.init) }.map(Key.init))
            }
        }

        private struct Key: Comparable {
            let bytes: [Int]
            init(_ bytes: [Int]) { self.bytes = bytes }
            static func < (left: Key, right: Key) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
        }

        private static func sorted(_ rows: [Row], _ order: [(field: String, isDescending: Bool)]) -> [Row] {
            rows.sorted { left, right in
                for term in order + [("no", false)] {
                    let result = compare(left, right, term.field) * (term.isDescending ? -1 : 1)
                    if result != 0 { return result < 0 }
                }
                return false
            }
        }

        private static func page<T>(_ rows: [T], _ limit: Int, _ offset: Int) -> [T] {
            Array(rows.dropFirst(offset).prefix(limit))
        }

        /// The text of a list, and what it must give.
        private static func rowList(_ generator: inout Generator, _ rows: [Row]) -> (text: String, result: String) {
            let fields = ["a", "b", "no"]
            let isDistinct = generator.number(2) == 0
            let selected =
                isDistinct ? [generator.pick(["a", "b"])] + generator.some(["no"]).prefix(generator.number(2)) : fields
            let order = generator.some(fields).map { ($0, generator.number(2) == 0) }
            let (limit, offset) = (generator.number(12), generator.number(6))
            let minimum = generator.number(4)
            let terms = order.map { "{\($0.0): \($0.1 ? "DESC" : "ASC")}" }.joined(separator: ", ")
            let text =
                """
                things(where: {_or: [{a: {ge: \(minimum)}}, {b: {isNull: true}}]}, orderBy: [\(terms)], \
                limit: \(limit), offset: \(offset), distinct: \(isDistinct))
                """
                + " { \(selected.joined(separator: " ")) }"
            let kept = rows.filter { ($0.a ?? -1) >= minimum || $0.b == nil }
            var texts = sorted(kept, order).map { row in
                "{" + selected.map { "\"\($0)\":\(row.text($0))" }.joined(separator: ",") + "}"
            }
            if isDistinct {
                var seen: Set<String> = []
                texts = texts.filter { seen.insert($0).inserted }
            }
            return (text, "[\(page(texts, limit, offset).joined(separator: ","))]")
        }

        private static func groupList(_ generator: inout Generator, _ rows: [Row]) -> (text: String, result: String) {
            let grouped = generator.some(["a", "b"])
            let (limit, atLeast) = (1 + generator.number(8), generator.number(4))
            let isByCount = generator.number(2) == 0
            let isDistinct = generator.number(2) == 0
            let text =
                """
                things(having: {_distinct: \(isDistinct), a_count: {ge: \(atLeast)}}, \
                orderBy: [\(isByCount ? "{_count: DESC}" : "")], limit: \(limit))
                """
                + " { \(grouped.joined(separator: " ")) _count a_count(distinct: true) no_min no_max no_sum b_max }"
            var groups: [[Row]] = grouped.isEmpty ? [rows] : []
            if !grouped.isEmpty {
                var byKey: [[String]: [Row]] = [:]
                for row in rows { byKey[grouped.map(row.text), default: []].append(row) }
                groups = byKey.values.map { sorted($0, []) }
            }
            groups = groups.filter { group in
                let values = group.compactMap(\.a)
                return (isDistinct ? Set(values).count : values.count) >= atLeast
            }
            groups.sort { left, right in
                if isByCount, left.count != right.count { return left.count > right.count }
                for field in grouped {
                    let result = compare(left[0], right[0], field)
                    if result != 0 { return result < 0 }
                }
                return false
            }
            let texts = page(groups, limit, 0).map { group in
                let numbers = group.map(\.no)
                let most = group.filter { $0.b != nil }.max { compare($0, $1, "b") < 0 }
                let parts =
                    grouped.map { "\"\($0)\":\(group[0].text($0))" } + [
                        "\"_count\":\(group.count)", "\"a_count\":\(Set(group.compactMap(\.a)).count)",
                        "\"no_min\":\(numbers.min() ?? 0)", "\"no_max\":\(numbers.max() ?? 0)",
                        "\"no_sum\":\(numbers.reduce(0, +))", "\"b_max\":\(most?.text("b") ?? "null")",
                    ]
                return "{\(parts.joined(separator: ","))}"
            }
            return (text, "[\(texts.joined(separator: ","))]")
        }

        @Test func agreeWithANaiveEvaluation() async throws {
            let seed = UInt64.random(in: .min ... .max)
            var generator = Generator(random: SeededRandom(seed: seed))
            let rows = (1...60).map { number in
                Row(
                    no: number, a: generator.number(4) == 0 ? nil : generator.number(5),
                    b: generator.number(4) == 0 ? nil : generator.pick(["x", "Y", "yy", "é", "", "Z z"]))
            }
            let schema = try compile("query Q { things { no } }").schema
            let statements = Migration.create(schema).map(\.sql)
            let values = rows.map { row in
                "(\(row.no), \(row.a.map(String.init) ?? "NULL"), \(row.b.map { "'\($0)'" } ?? "NULL"))"
            }
            let fill =
                statements.joined(separator: ";\n") + ";INSERT INTO thing VALUES " + values.joined(separator: ", ")
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(fill) }) { pool in
                for number in 0..<200 {
                    let (text, wanted) =
                        number % 2 == 0 ? Self.rowList(&generator, rows) : Self.groupList(&generator, rows)
                    let catalog = try compile("query Q { things: \(text) }")
                    let operation = try #require(catalog.connectors["main"]?.operations["Q"])
                    let outcome = try await QueryExecutor(pool: pool, clock: fixedClock).run(
                        operation, variables: JSONObject(), auth: nil)
                    #expect(
                        String(decoding: outcome.answer.body, as: UTF8.self) == "{\"things\":\(wanted)}",
                        "seed \(seed): \(text)")
                }
            }
        }

        private func compile(_ operation: String) throws -> Catalog {
            try Catalog.compile(
                Project(
                    serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: Self.sdl)],
                    connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: operation)])]))
        }
    }
}
