import Catalog
import Execution
import JSON
import LiveModel
import SeededRandom
import Testing

extension Language {
    /// Random filters against a naive evaluation of the same rows in memory, with the three truth values of SQL.
    @Suite struct FilterProperties {
        private struct Novel {
            let title: String
            let printedYear: Int64?
            let rating: Double?
            let genre: String?
            let tags: [String]?
            let isClassic: Bool?
            let stars: [Int64]
            let narrator: String?
        }

        /// The novels of `LanguageSchema.rows`, in the order of their keys.
        private static let novels = [
            Novel(
                title: "Alpha", printedYear: 1950, rating: 8.5, genre: "NOIR", tags: ["dark", "rain"], isClassic: true,
                stars: [5, 3], narrator: "Ada"),
            Novel(
                title: "Beta", printedYear: 1960, rating: 7, genre: "FARCE", tags: ["fun"], isClassic: false,
                stars: [3],
                narrator: "Ben"),
            Novel(
                title: "Gamma", printedYear: 1970, rating: nil, genre: "NOIR", tags: nil, isClassic: nil, stars: [],
                narrator: nil),
            Novel(
                title: "Delta 50%_", printedYear: 1970, rating: 6.25, genre: nil, tags: ["dark", "fun"],
                isClassic: true,
                stars: [1], narrator: "Ada"),
        ]

        /// No test, or a truth: true, false or unknown.
        private enum Outcome {
            case noTest
            case truth(Bool?)
        }

        private static func all(_ outcomes: [Outcome]) -> Outcome { combine(outcomes, deciding: false) }
        private static func any(_ outcomes: [Outcome]) -> Outcome { combine(outcomes, deciding: true) }

        private static func combine(_ outcomes: [Outcome], deciding: Bool) -> Outcome {
            var truths: [Bool?] = []
            for case .truth(let truth) in outcomes { truths.append(truth) }
            if truths.isEmpty { return .noTest }
            if truths.contains(deciding) { return .truth(deciding) }
            return .truth(truths.contains(nil) ? nil : !deciding)
        }

        private static func not(_ outcome: Outcome) -> Outcome {
            if case .truth(let truth) = outcome { .truth(truth.map { !$0 }) } else { .noTest }
        }

        private static func evaluate(_ filter: JSONValue, _ novel: Novel) -> Outcome {
            all(
                (filter.objectValue?.entries ?? []).map { entry in
                    switch entry.key {
                    case "_and": return all((entry.value.arrayValue ?? []).map { evaluate($0, novel) })
                    case "_or": return any((entry.value.arrayValue ?? []).map { evaluate($0, novel) })
                    case "_not": return not(evaluate(entry.value, novel))
                    case "title": return tests(entry.value, .string(novel.title))
                    case "printedYear": return tests(entry.value, novel.printedYear.map(JSONValue.int) ?? .null)
                    case "rating": return tests(entry.value, novel.rating.map(JSONValue.double) ?? .null)
                    case "genre": return tests(entry.value, novel.genre.map(JSONValue.string) ?? .null)
                    case "isClassic": return tests(entry.value, novel.isClassic.map(JSONValue.bool) ?? .null)
                    case "tags": return listTests(entry.value, novel.tags)
                    case "narrator":
                        let inner = tests(entry.value["name"] ?? .null, novel.narrator.map(JSONValue.string) ?? .null)
                        guard case .truth(let truth) = inner else { return .noTest }
                        return .truth(novel.narrator != nil && truth == true)
                    case "remarks_on_novel":
                        let exist = entry.value["exist"]?["stars"] ?? .object([:])
                        let matching = novel.stars.filter { star in
                            if case .truth(let truth) = tests(exist, .int(star)) { truth == true } else { true }
                        }
                        let counted = tests(entry.value["count"] ?? .null, .int(Int64(matching.count)))
                        guard case .truth = counted else { return .truth(!matching.isEmpty) }
                        return counted
                    default: return .noTest
                    }
                })
        }

        private static func tests(_ tests: JSONValue, _ value: JSONValue) -> Outcome {
            all((tests.objectValue?.entries ?? []).map { test($0.key, $0.value, value) })
        }

        private static func test(_ name: String, _ wanted: JSONValue, _ value: JSONValue) -> Outcome {
            if wanted.isNull {
                return name == "eq" ? .truth(value.isNull) : name == "ne" ? .truth(!value.isNull) : .noTest
            }
            switch name {
            case "isNull": return .truth(value.isNull == (wanted.boolValue ?? false))
            case "in", "nin":
                let elements = wanted.arrayValue ?? []
                if elements.isEmpty { return .truth(name == "nin") }
                if value.isNull { return .truth(nil) }
                return .truth(elements.contains { same($0, value) } == (name == "in"))
            default: break
            }
            if value.isNull { return .truth(nil) }
            switch name {
            case "pattern": return .truth(matches(wanted, value.stringValue ?? ""))
            case "eq": return .truth(same(value, wanted))
            case "ne": return .truth(!same(value, wanted))
            case "contains": return .truth((value.stringValue ?? "").contains(wanted.stringValue ?? ""))
            case "startsWith": return .truth((value.stringValue ?? "").hasPrefix(wanted.stringValue ?? ""))
            default: break
            }
            guard let left = value.doubleValue, let right = wanted.doubleValue else { return .noTest }
            switch name {
            case "gt": return .truth(left > right)
            case "ge": return .truth(left >= right)
            case "lt": return .truth(left < right)
            default: return .truth(left <= right)
            }
        }

        /// `like` begins or ends with `%`, `regex` with `^` or `$`, and nothing else in them is special.
        private static func matches(_ pattern: JSONValue, _ text: String) -> Bool {
            func folded(_ text: String) -> String { pattern["ignoreCase"] == .bool(true) ? text.lowercased() : text }
            let isLike = pattern["like"] != nil
            let words = folded((pattern["like"] ?? pattern["regex"])?.stringValue ?? "")
            let inner = String(words.filter { !"%^$".contains($0) })
            let text = folded(text)
            let isMatch =
                switch (words.first, words.last) {
                case ("%", "%"): text.contains(inner)
                case ("%", _), (_, "$"): text.hasSuffix(inner)
                case (_, "%"), ("^", _): text.hasPrefix(inner)
                default: isLike ? text == inner : text.contains(inner)
                }
            return isMatch != (pattern["invert"] == .bool(true))
        }

        private static func same(_ left: JSONValue, _ right: JSONValue) -> Bool {
            if let left = left.doubleValue, let right = right.doubleValue { return left == right }
            return left == right
        }

        private static func listTests(_ tests: JSONValue, _ value: [String]?) -> Outcome {
            all(
                (tests.objectValue?.entries ?? []).map { entry in
                    let wanted = entry.value.arrayValue?.compactMap(\.stringValue) ?? [entry.value.stringValue ?? ""]
                    switch entry.key {
                    case "isNull": return .truth((value == nil) == entry.value.boolValue)
                    case "includes", "includesAll":
                        return .truth(value.map { value in wanted.allSatisfy(value.contains) })
                    default: return .truth(!(value.map { value in wanted.contains(where: value.contains) } ?? false))
                    }
                })
        }

        // MARK: Random filters

        private struct Generator {
            var random: SeededRandom

            mutating func pick<T>(_ values: [T]) -> T { values[Int(random.next() % UInt64(values.count))] }

            mutating func filter(_ depth: Int) -> JSONValue {
                var object = JSONObject()
                for _ in 0..<(1 + random.next() % 2) {
                    let name = pick(
                        depth > 0
                            ? [
                                "_and", "_or", "_not", "title", "printedYear", "rating", "genre", "tags", "isClassic",
                                "narrator", "remarks_on_novel",
                            ]
                            : ["title", "printedYear", "rating", "genre", "tags", "isClassic"])
                    object[name] = field(name, depth)
                }
                return .object(object)
            }

            private mutating func field(_ name: String, _ depth: Int) -> JSONValue {
                switch name {
                case "_and", "_or": return .array((0..<random.next() % 3).map { _ in filter(depth - 1) })
                case "_not": return filter(depth - 1)
                case "title":
                    return tests(
                        ["eq", "ne", "in", "nin", "contains", "startsWith", "pattern"],
                        ["Alpha", "Beta", "%", "a", "De"])
                case "narrator": return ["name": tests(["eq", "ne", "startsWith"], ["Ada", "Ben", "C"])]
                case "genre": return tests(["eq", "ne", "in", "nin", "isNull"], ["NOIR", "FARCE", "EPIC"])
                case "isClassic": return tests(["eq", "ne", "isNull"], [true, false])
                case "printedYear":
                    return tests(["eq", "ne", "gt", "ge", "lt", "le", "in", "nin"], [1950, 1960, 1970])
                case "rating": return tests(["eq", "ne", "gt", "ge", "lt", "le", "isNull"], [6.25, 7, 8.5])
                case "remarks_on_novel":
                    var object = JSONObject()
                    if random.next() % 4 != 0 { object["exist"] = ["stars": tests(["ge", "lt", "eq"], [1, 3, 5])] }
                    if random.next() % 2 == 0 {
                        object["count"] = tests(["ge", "lt", "ne", "in"], [0, 1, 2], nullIn: 3)
                    }
                    return .object(object)
                default:
                    let name = pick(["includes", "excludes", "includesAll", "excludesAll", "isNull"])
                    if name == "isNull" { return [name: .bool(random.next() % 2 == 0)] }
                    let values: [JSONValue] = (0...random.next() % 2).map { _ in .string(pick(["dark", "fun", "rain"]))
                    }
                    return .object([name: name.hasSuffix("All") ? .array(values) : values[0]])
                }
            }

            /// A pattern that `matches` can evaluate.
            mutating func pattern() -> JSONValue {
                var object: JSONObject =
                    random.next() % 2 == 0
                    ? ["like": pick(["%a", "A%", "%et%", "Beta", "B"])] : ["regex": pick(["^B", "a$", "et", "^a"])]
                for flag in ["ignoreCase", "invert"] where random.next() % 2 == 0 {
                    object[flag] = .bool(random.next() % 2 == 0)
                }
                return .object(object)
            }

            private mutating func tests(_ names: [String], _ values: [JSONValue], nullIn: UInt64 = 8) -> JSONValue {
                var object = JSONObject()
                for _ in 0..<random.next() % 3 {
                    let name = pick(names)
                    switch name {
                    case "isNull": object[name] = .bool(random.next() % 2 == 0)
                    case "in", "nin": object[name] = .array((0..<random.next() % 3).map { _ in pick(values) })
                    case "pattern": object[name] = pattern()
                    default: object[name] = random.next() % nullIn == 0 ? .null : pick(values)
                    }
                }
                return .object(object)
            }
        }

        private static let orders: [JSONValue] = [
            .null, ["title": "DESC"], [["rating": "ASC"], ["title": "DESC"]], [["narrator": ["name": "DESC"]]],
        ]

        /// Returns the value as GraphQL writes it.
        private static func literal(_ value: JSONValue, isEnum: Bool = false) -> String {
            switch value {
            case .object(let object):
                "{"
                    + object.entries.map {
                        // An absent variable removes its test from the filter, as null within a variable does.
                        let isAbsent = $0.value.isNull && !["eq", "ne"].contains($0.key)
                        return
                            "\($0.key): \(isAbsent ? "$none" : literal($0.value, isEnum: isEnum || $0.key == "genre"))"
                    }
                    .joined(separator: ", ") + "}"
            case .array(let elements): "[\(elements.map { literal($0, isEnum: isEnum) }.joined(separator: ", "))]"
            case .string(let text) where isEnum: text
            default: value.description
            }
        }

        /// A filter means the same written as a literal and sent in a variable.
        @Test func filterLiteralsMeanTheSameAsVariables() async throws {
            let running = try #require(LanguageServer.current)
            let executor = QueryExecutor(pool: running.pool, clock: fixedClock)
            let seed = UInt64.random(in: .min ... .max)
            var generator = Generator(random: SeededRandom(seed: seed))
            for _ in 0..<100 {
                let filter = generator.filter(2)
                // Operators that compare with null cannot be written as literals; they are left out of the text.
                let written = Self.writable(filter)
                let literal = Self.literal(written)
                let order = generator.pick(Self.orders)
                let orderLiteral = Self.literal(order, isEnum: true)
                let pattern = generator.pattern()
                let none = literal.contains("$none") ? ", $none: Int" : ""
                let stored = try LanguageSchema.operation(
                    """
                    query Q($f: Novel_Filter, $r: Novel_FirstRow!, $p: String_Pattern\(none)) {
                      a: novels(where: $f) { title }
                      b: novels(where: \(literal)) { title }
                      c: novel(first: $r) { title }
                      d: novel(first: {where: \(literal), orderBy: \(orderLiteral)}) { title }
                      e: novels(where: {title: {pattern: $p}}) { title }
                    }
                    """)
                let sent: JSONObject = ["f": written, "r": ["where": written, "orderBy": order], "p": pattern]
                let result = try await executor.run(stored, variables: try stored.coerce(sent), auth: nil)
                let data = try JSONParser.parse(result.answer.body)
                #expect(data["a"] == data["b"], "seed \(seed): \(written)")
                #expect(data["c"] == data["d"], "seed \(seed): \(written) \(order)")
                let titles = Self.novels.map(\.title).filter { Self.matches(pattern, $0) }
                #expect(
                    data["e"] == .array(titles.map { .object(["title": .string($0)]) }), "seed \(seed): \(pattern)")
            }
        }

        private static func writable(_ value: JSONValue, isCount: Bool = false) -> JSONValue {
            switch value {
            case .object(let object):
                var kept = JSONObject()
                for entry in object where !entry.value.isNull || isCount || ["eq", "ne"].contains(entry.key) {
                    kept[entry.key] = writable(entry.value, isCount: entry.key == "count")
                }
                return .object(kept)
            case .array(let elements): return .array(elements.map { writable($0) })
            default: return value
            }
        }

        @Test func agreeWithANaiveEvaluation() async throws {
            let running = try #require(LanguageServer.current)
            let operation = try LanguageSchema.operation(
                "query Q($f: Novel_Filter) { novels(where: $f) { title } }")
            let executor = QueryExecutor(pool: running.pool, clock: fixedClock)
            let seed = UInt64.random(in: .min ... .max)
            var generator = Generator(random: SeededRandom(seed: seed))
            var items: [QueryExecutor.Item] = []
            var filters: [JSONValue] = []
            for _ in 0..<400 {
                let filter = generator.filter(2)
                filters.append(filter)
                let sent = try operation.coerce(["f": filter])
                items.append(QueryExecutor.Item(variables: sent, auth: nil, knownDigest: nil))
            }
            let outcomes = await executor.run(operation, items: items)
            for (filter, outcome) in zip(filters, outcomes) {
                let wanted = Self.novels.filter {
                    if case .truth(let truth) = Self.evaluate(filter, $0) { truth == true } else { true }
                }
                let text = "{\"novels\":[\(wanted.map { "{\"title\":\"\($0.title)\"}" }.joined(separator: ","))]}"
                guard case .result(let result) = outcome else {
                    Issue.record("seed \(seed): \(filter): \(outcome)")
                    return
                }
                #expect(String(decoding: result.answer.body, as: UTF8.self) == text, "seed \(seed): \(filter)")
            }
        }
    }
}
