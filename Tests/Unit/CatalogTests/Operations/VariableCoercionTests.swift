import Catalog
import JSON
import LiveModel
import Operations
import Testing

@Suite struct VariableCoercionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let type: String
        let sent: String
        /// Canonical JSON of the coerced value; nil when it is refused.
        let coerced: String?
        var testDescription: String { "\(type) \(sent)" }

        init(_ type: String, _ sent: String, _ coerced: String?) {
            self.type = type
            self.sent = sent
            self.coerced = coerced
        }
    }

    private static let uuid = #""6f1c2d3e00004000800000000000000a""#

    static let rows = [
        Row("UUID", #""6F1C2D3E-0000-4000-8000-00000000000A""#, uuid),
        Row("UUID", #""{6f1c2d3e-0000-4000-8000-00000000000a}""#, uuid),
        Row("UUID", #""urn:uuid:6f1c2d3e-0000-4000-8000-00000000000a""#, uuid),
        Row("UUID", #""6f1c2d3e-0000-4000-8000-00000000000""#, nil),
        Row("UUID", "7", nil),
        Row("String", #""é\n""#, "\"é\\n\""),
        Row("String", #""a\u0000b""#, nil),
        Row("String", "1", nil),
        Row("String", "null", "null"),
        Row("String!", "null", nil),
        Row("Int", "2147483647", "2147483647"),
        Row("Int", "2147483648", nil),
        Row("Int", "-2147483649", nil),
        Row("Int", "3.0", "3"),
        Row("Int", "3.5", nil),
        Row("Int", "1e300", nil),
        Row("Int", #""3""#, nil),
        Row("Int64", "9223372036854775807", "9223372036854775807"),
        Row("Int64", #""-9223372036854775808""#, "-9223372036854775808"),
        Row("Int64", #""9223372036854775808""#, nil),
        Row("Int64", #""+1""#, nil),
        Row("Int64", #"" 1""#, nil),
        Row("Int64", "9223372036854775808", nil),
        Row("Float", "3", "3.0"),
        Row("Float", "-0.5", "-0.5"),
        Row("Float", #""NaN""#, nil),
        Row("Boolean", "true", "true"),
        Row("Boolean", "1", nil),
        Row("Date", #""2024-02-29""#, #""2024-02-29""#),
        Row("Date", #""2024-02-29T10:00:00Z""#, #""2024-02-29""#),
        Row("Date", #""2023-02-29""#, nil),
        Row("Timestamp", #""2024-01-31T12:00:00+02:00""#, #""2024-01-31T10:00:00.000000Z""#),
        Row("Timestamp", #""2024-01-31t12:00:00.123456789z""#, #""2024-01-31T12:00:00.123456Z""#),
        Row("Timestamp", #""2024-01-31T12:00:00""#, nil),
        Row("Timestamp", #""1500-01-01T00:00:00Z""#, nil),
        Row("Genre", #""NOIR""#, #""NOIR""#),
        Row("Genre", #""noir""#, nil),
        Row("OrderDirection", #""DESC""#, #""DESC""#),
        Row("OrderDirection", #""DOWN""#, nil),
        Row("Any", #"{"a": [1, null, "x"]}"#, #"{"a":[1,null,"x"]}"#),
        Row("Any", #"{"a": ["\u0000"]}"#, nil),
        Row("Any", #"{"\u0000": 1}"#, nil),
        Row("[String!]", #"["a", "b"]"#, #"["a","b"]"#),
        Row("[String!]", #""a""#, #"["a"]"#),
        Row("[String!]", #"["a", null]"#, nil),
        Row("[String]", #"["a", null]"#, #"["a",null]"#),
        Row("[String!]!", "null", nil),
        Row("[String!]", #"[["a"]]"#, nil),
        Row("Novel_Key", #"{"id": "6F1C2D3E-0000-4000-8000-00000000000A"}"#, #"{"id":\#(uuid)}"#),
        Row("Novel_Key", "{}", nil),
        Row("Novel_Key", #"{"id": null}"#, nil),
        Row("Novel_Key", #"{"id": \#(uuid), "x": 1}"#, nil),
        Row("Novel_Key", "[]", nil),
        Row("Seat_Key", #"{"number": 7, "hallId": "h"}"#, #"{"hallId":"h","number":7}"#),
        Row("String_Pattern", #"{"like": "a%", "ignoreCase": true}"#, #"{"like":"a%","ignoreCase":true}"#),
        Row("String_Pattern", #"{"like": "a%", "regex": "a"}"#, nil),
        Row("String_Pattern", #"{"ignoreCase": true}"#, nil),
        Row("String_Pattern", #""a%""#, nil),
        Row("Timestamp_Relative", #"{"at": "2024-01-31T12:00:00+02:00"}"#, #"{"at":"2024-01-31T10:00:00.000000Z"}"#),
        Row("Timestamp_Relative", #"{"at": null}"#, nil),
        Row("Timestamp_Relative", #"{"today": true}"#, nil),
        Row("Timestamp_Relative", #"{"now": true, "add": {"days": 1.5}}"#, nil),
        Row("Date_Relative", #"{"today": true, "truncateTo": "DAY"}"#, nil),
        Row("Date_Relative!", "null", nil),
        Row("Date_Duration", #"{"years": null, "days": 7.0}"#, #"{"days":7,"years":null}"#),
        Row("Date_Duration", #"{"hours": 7}"#, nil),
        Row("Timestamp_Duration", "7", nil),
        Row("Novel_FirstRow!", #"{"orderBy": {"title": "ASC"}}"#, #"{"orderBy":[{"title":"ASC"}]}"#),
        Row("Novel_FirstRow!", #"{"where": {"title": {"eq_expr": "auth.uid"}}}"#, nil),
        Row("Novel_FirstRow!", #"{"orderBy": [{"title": "UP"}]}"#, nil),
        Row("Novel_FirstRow!", #"{"limit": 1}"#, nil),
        Row("[Int_Update!]", #"{"inc": 1}"#, #"[{"inc":1}]"#),
        Row("[Int_Update!]", "[]", "[]"),
        Row("[Int_Update!]", #"[{"inc": 1}, {"inc": 2}]"#, nil),
        Row("[Int_Update!]", #"[{"inc": 1, "dec": 2}]"#, nil),
        Row("[Int_Update!]", #"[{"inc": "1"}]"#, nil),
        Row("[String_ListUpdate!]", #"[{"append": "x"}]"#, #"[{"append":["x"]}]"#),
        Row("String_Filter", #"{"in": "x"}"#, #"{"in":["x"]}"#),
        Row("String_ListFilter", #"{"includesAll": 1}"#, nil),
        Row("[Timestamp_Update!]", #"[{"dec": {"days": 1}}]"#, #"[{"dec":{"days":1}}]"#),
        Row("Novel_Data!", #"{"title": null, "tags": "a", "views": "5"}"#, #"{"title":null,"views":5,"tags":["a"]}"#),
        Row("Novel_Data!", #"{"titel": "x"}"#, nil),
        Row("[Novel_Data!]!", #"[{"title": "a"}, {}]"#, #"[{"title":"a"},{}]"#),
        Row("Remark_Data!", #"{"novel": {"id": \#(uuid)}}"#, #"{"novel":{"id":\#(uuid)}}"#),
        Row("Remark_Data!", #"{"novel": {"id": 5}}"#, nil),
    ]

    @Test(arguments: rows) func variablesAreCoercedOrRefused(_ row: Row) throws {
        let operation = try CatalogHarness.operation("query Q($v: \(row.type)) { novels { id } }")
        let sent = try CatalogHarness.object("{\"v\": \(row.sent)}")
        guard let expected = row.coerced else {
            let error = #expect(throws: RequestError.self) { try operation.coerce(sent) }
            #expect(error?.code == .invalidVariable)
            #expect(error?.message.contains("$v") == true)
            return
        }
        #expect(try operation.coerce(sent)["v"]?.description == expected)
    }

    @Test func defaultsReplaceAbsentVariablesButNotNull() throws {
        let operation = try CatalogHarness.operation(
            "query Q($a: Int, $b: Int = 2, $c: Int! = 3, $d: Genre = EPIC) { novels { id } }")
        #expect(try JSONValue.object(operation.coerce([:])).description == #"{"b":2,"c":3,"d":"EPIC"}"#)
        #expect(
            try JSONValue.object(operation.coerce(["b": nil, "a": nil])).description
                == #"{"a":null,"b":null,"c":3,"d":"EPIC"}"#)
        #expect(throws: RequestError.self) { try operation.coerce(["c": nil]) }
        #expect(operation.variables.map(\.isRequired) == [false, false, false, false])
    }

    @Test func unknownVariablesAreRefusedByName() throws {
        let operation = try CatalogHarness.operation("query Q($genre: String) { novels { id } }")
        let error = #expect(throws: RequestError.self) { try operation.coerce(["gerne": "x"]) }
        #expect(error?.message == #"the operation has no variable "$gerne"; did you mean "genre"?"#)
    }

    @Test func missingAndNullRequiredVariablesAreRefused() throws {
        func message(_ variable: String, _ sent: String, _ use: String) throws -> String? {
            let operation = try CatalogHarness.operation("mutation M(\(variable)) { \(use) }")
            let sent = try CatalogHarness.object(sent)
            return #expect(throws: RequestError.self) { try operation.coerce(sent) }?.message
        }
        let id = "$id: UUID!"
        let delete = "novel_delete(id: $id)"
        #expect(try message(id, "{}", delete) == #"variable "$id" is missing: UUID! is required"#)
        #expect(try message(id, #"{"id": null}"#, delete) == #"variable "$id" is null: UUID! is required"#)
        let defaulted = #"$id: UUID! = "\#(CatalogHarness.uuidA)""#
        #expect(try message(defaulted, #"{"id": null}"#, delete) == #"variable "$id" is null: UUID! is required"#)
        let key = "$k: Novel_Key!"
        let byKey = "novel_delete(key: $k)"
        #expect(try message(key, #"{"k": {}}"#, byKey) == #"variable "$k.id" is missing: a value is required"#)
        #expect(try message(key, #"{"k": {"id": null}}"#, byKey) == #"variable "$k.id" is null: a value is required"#)
        #expect(
            try message("$ids: [UUID!]!", #"{"ids": [null]}"#, "novel_deleteMany(where: {id: {in: $ids}})")
                == #"variable "$ids[0]" is null: a value is required"#)
    }

    @Test func refusalsNameThePathInTheVariable() throws {
        let operation = try CatalogHarness.operation(
            "mutation M($rows: [Novel_Data!]!) { novel_insertMany(data: $rows) }")
        let sent = try CatalogHarness.object(#"{"rows": [{"title": "a"}, {"printedYear": "x"}]}"#)
        #expect(throws: RequestError(.invalidVariable, #"variable "$rows[1].printedYear": expected a 32-bit integer"#))
        {
            try operation.coerce(sent)
        }
    }

    @Test func depthAndNumbersAreBounded() throws {
        let any = try CatalogHarness.operation("query Q($v: Any) { novels { id } }")
        var deep = JSONValue.int(1)
        for _ in 0..<64 { deep = .array([deep]) }
        #expect(try any.coerce(["v": deep]).count == 1)
        #expect(throws: RequestError.self) { try any.coerce(["v": .array([deep])]) }
        #expect(throws: RequestError.self) { try any.coerce(["v": .double(.nan)]) }
        #expect(throws: RequestError.self) { try any.coerce(["v": .object(["x": .double(.infinity)])]) }

        let float = try CatalogHarness.operation("query Q($v: Float) { novels { id } }")
        #expect(throws: RequestError.self) { try float.coerce(["v": .double(.nan)]) }

        let list = try CatalogHarness.operation("query Q($v: [Int!]) { novels { id } }")
        #expect(try list.coerce(["v": .array(Array(repeating: 1, count: 10_000))]).count == 1)
        #expect(throws: RequestError.self) { try list.coerce(["v": .array(Array(repeating: 1, count: 10_001))]) }

        let rows = try CatalogHarness.operation(
            "mutation M($v: [Seat_Data!]! @allow(fields: \"hallId number\", maxCount: 2)) { seat_insertMany(data: $v) }"
        )
        let row: JSONValue = ["hallId": "h", "number": 1]
        #expect(try rows.coerce(["v": .array([row, row])]).count == 1)
        #expect(throws: RequestError.self) { try rows.coerce(["v": .array([row, row, row])]) }
        #expect(throws: RequestError.self) { try rows.coerce(["v": .array([["hallId": "h", "taken": true]])]) }
    }

    @Test func messagesNeverHoldTheValue() throws {
        let operation = try CatalogHarness.operation("query Q($v: UUID) { novels { id } }")
        let error = #expect(throws: RequestError.self) { try operation.coerce(["v": "secret-value"]) }
        #expect(error?.message.contains("secret") == false)
    }

    /// A negative number of rows is the client's mistake, said before anything is run; absent and null are the default.
    @Test(arguments: [
        "query Q($n: Int) { novels(limit: $n) { id } }", "query Q($n: Int) { novels(offset: $n) { id } }",
        "query Q($n: Int) { novels { remarks_on_novel(limit: $n) { id } } }",
        "query Q($n: Int, $m: Int) { novels(where: {printedYear: {gt: $n}}, limit: $m, offset: $n) { id } }",
    ])
    func countsOfRowsAreNotNegative(text: String) throws {
        let operation = try CatalogHarness.operation(text)
        let error = #expect(throws: RequestError.self) { try operation.coerce(["n": -1]) }
        #expect(error?.code == .invalidVariable)
        #expect(error?.message == "variable \"$n\": expected an integer from 0 to 2147483647")
        for sound: JSONObject in [["n": 0], ["n": 5], ["n": .null], [:]] {
            #expect(throws: Never.self) { try operation.coerce(sound) }
        }
    }

    @Test func otherNumbersMayBeNegative() throws {
        let operation = try CatalogHarness.operation(
            "query Q($n: Int) { novels(where: {printedYear: {gt: $n}}) { id } }")
        #expect(try operation.coerce(["n": -1])["n"] == -1)
    }
}
