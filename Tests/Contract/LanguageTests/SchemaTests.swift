import Testing

extension Language {
    /// Directives of the schema: the tables they make, and what operations find there.
    @Suite struct Schemas {
        private static let fresh = "f000000000004000800000000000000f"

        static let rows = [
            SchemaRow(
                "table",
                """
                type Film @table(name: "films_tbl", singular: "picture", plural: "pictures", key: ["code"]) {
                  code: String!
                  title: String
                }
                type Copy @table(key: ["film", "number"]) { film: Film! number: Int! note: String }
                type Plain @table { name: String }
                """,
                .init(
                    #"mutation M { picture_insert(data: {code: "a", title: "A"}) }"#,
                    #"{"picture_insert":{"code":"a"}}"#),
                .init(
                    "mutation M($k: Film_Key!) { copy_insert(data: {film: $k, number: 1}) }", #"{"k": {"code": "a"}}"#,
                    #"{"copy_insert":{"filmCode":"a","number":1}}"#),
                .init(#"mutation M { plain_insert(data: {name: "x"}) }"#, "{\"plain_insert\":{\"id\":\"\(fresh)\"}}"),
                .init(
                    """
                    query Q {
                      picture(code: "a") { title copies_on_film { number } }
                      pictures { code }
                      copy(key: {filmCode: "a", number: 1}) { film { title } }
                      plain(id: "f0000000-0000-4000-8000-00000000000f") { name }
                    }
                    """,
                    """
                    {"picture":{"title":"A","copies_on_film":[{"number":1}]},"pictures":[{"code":"a"}],\
                    "copy":{"film":{"title":"A"}},"plain":{"name":"x"}}
                    """
                )),
            SchemaRow(
                "view",
                #"""
                type Sale @table { shop: String! amount: Int! }
                type ShopTotal @view(sql: "SELECT shop, sum(amount) AS total_amount FROM sale GROUP BY shop") {
                  shop: String
                  totalAmount: Int64
                }
                type BigSale @view(name: "big_sale_v", singular: "bigOne", plural: "bigOnes") { amount: Int }
                """#, sql: "CREATE VIEW big_sale_v AS SELECT amount FROM sale WHERE amount > 5",
                .init(
                    """
                    mutation M {
                      sale_insertMany(
                        data: [
                          {id: "00000000-0000-4000-8000-000000000001", shop: "s", amount: 9},
                          {id: "00000000-0000-4000-8000-000000000002", shop: "s", amount: 1}
                        ]
                      ) { amount }
                    }
                    """,
                    #"{"sale_insertMany":[{"amount":9},{"amount":1}]}"#),
                .init(
                    """
                    query Q {
                      shopTotals(where: {totalAmount: {gt: 5}}) { shop totalAmount }
                      bigOnes { amount }
                      n: bigOnes { _count }
                    }
                    """,
                    #"{"shopTotals":[{"shop":"s","totalAmount":"10"}],"bigOnes":[{"amount":9}],"n":[{"_count":1}]}"#)),
            SchemaRow(
                "col",
                """
                type Item @table {
                  id: Int! @col(name: "item_no", dataType: "serial")
                  label: String @col(name: "the_label", size: 3)
                  price: Float @col(dataType: "numeric(6,2)")
                  code: String @col(dataType: "char(2)")
                }
                """,
                .init(
                    #"mutation M { item_insert(data: {label: "abc", price: 1.5, code: "xy"}) { id label } }"#,
                    #"{"item_insert":{"id":1,"label":"abc"}}"#),
                .init(
                    #"mutation M { item_insert(data: {label: "abcd"}) }"#, "!a value is out of range or malformed"),
                .init(
                    "query Q { items(where: {label: {eq: \"abc\"}, price: {lt: 2}}) { id price code } }",
                    #"{"items":[{"id":1,"price":1.50,"code":"xy"}]}"#)),
            SchemaRow(
                "extend",
                """
                extend type Novel @unique(fields: ["title"]) { sequelTo: Novel mood: Mood! @default(value: GLAD) }
                type Novel @table { title: String! }
                enum Mood { GLAD }
                extend enum Mood { SAD }
                extend type Novel @index(fields: ["mood"], name: "novels_by_mood")
                """,
                .init(
                    """
                    mutation M {
                      a: novel_insert(data: {id: "00000000-0000-4000-8000-000000000001", title: "A"}) { mood }
                      b: novel_insert(
                        data: {title: "B", mood: SAD, sequelTo: {id: "00000000-0000-4000-8000-000000000001"}}
                      ) { mood }
                    }
                    """,
                    #"{"a":{"mood":"GLAD"},"b":{"mood":"SAD"}}"#),
                .init(
                    """
                    query Q {
                      novels(where: {mood: {eq: SAD}}) { title sequelTo { title novels_on_sequelTo { title } } }
                    }
                    """,
                    #"{"novels":[{"title":"B","sequelTo":{"title":"A","novels_on_sequelTo":[{"title":"B"}]}}]}"#)),
            SchemaRow(
                "plurals",
                """
                type GateA @table { n: Int! }
                type GateB @table { n: Int! }
                type Tunnel @table(key: ["a", "b"]) { a: GateA! b: GateB! }
                type SignalSettings @table { gate: GateA! color: String }
                """,
                .init(
                    """
                    mutation M {
                      gateB_insert(data: {id: "00000000-0000-4000-8000-000000000002", n: 2}) { n }
                      gateA_insert(
                        data: {
                          id: "00000000-0000-4000-8000-000000000001", n: 1,
                          signalSettingss_on_gate: [{color: "red"}]
                        }
                      ) { n }
                      tunnel_insert(
                        data: {
                          aId: "00000000-0000-4000-8000-000000000001", bId: "00000000-0000-4000-8000-000000000002"
                        }
                      )
                    }
                    """,
                    """
                    {"gateB_insert":{"n":2},"gateA_insert":{"n":1},\
                    "tunnel_insert":{"aId":"00000000000040008000000000000001",\
                    "bId":"00000000000040008000000000000002"}}
                    """
                ),
                .init(
                    """
                    query Q {
                      gateAS { n gateBS_via_Tunnel { n } signalSettingss_on_gate { color } }
                      signalSettingss { color }
                    }
                    """,
                    """
                    {"gateAS":[{"n":1,"gateBS_via_Tunnel":[{"n":2}],"signalSettingss_on_gate":[{"color":"red"}]}],\
                    "signalSettingss":[{"color":"red"}]}
                    """
                )),
            SchemaRow(
                "data types of lists",
                """
                type Article @table {
                  keywords: [String!]! @col(dataType: "text[]") @index
                  codes: [String!] @col(dataType: "varchar(3)[]")
                  ranks: [Int!] @col(dataType: "smallint")
                  weights: [Float!] @col(dataType: "real[]")
                }
                """,
                .init(
                    """
                    mutation M {
                      article_insert(data: {keywords: ["a", "b"], codes: ["abc"], ranks: [1], weights: [0.1]}) {
                        keywords codes ranks
                      }
                    }
                    """,
                    #"{"article_insert":{"keywords":["a","b"],"codes":["abc"],"ranks":[1]}}"#),
                .init(
                    """
                    mutation M {
                      article_updateMany(
                        all: true,
                        data: {
                          keywords_update: {append: ["c"]},
                          codes_update: {add: ["abc", "xyz"]},
                          ranks_update: {prepend: [7]}
                        }
                      )
                    }
                    """,
                    #"{"article_updateMany":1}"#),
                .init(
                    """
                    mutation M {
                      article_updateMany(
                        all: true,
                        data: {
                          keywords_update: {remove: ["c"]},
                          codes_update: {remove: ["abc"]},
                          ranks_update: {add: [1, 8]}
                        }
                      )
                    }
                    """,
                    #"{"article_updateMany":1}"#),
                .init(
                    #"mutation M { article_insert(data: {keywords: [], codes: ["abcd"]}) { codes } }"#,
                    "!a value is out of range or malformed"),
                .init(
                    """
                    query Q {
                      articles(
                        where: {
                          keywords: {includes: "b"},
                          codes: {includesAll: ["xyz"]},
                          ranks: {excludes: 100000},
                          weights: {includes: 0.1}
                        }
                      ) { keywords codes ranks }
                      none: articles(where: {codes: {includes: "xyz…"}}) { codes }
                      heavy: articles(where: {weights: {excludes: 0.1}}) { codes }
                    }
                    """,
                    #"{"articles":[{"keywords":["a","b"],"codes":["xyz"],"ranks":[7,1,8]}],"none":[],"heavy":[]}"#)),
            SchemaRow(
                "default",
                """
                enum Mood { GOOD BAD }
                type Note @table {
                  owner: String! @default(expr: "auth.uid")
                  at: Timestamp! @default(expr: "request.time")
                  day: Date! @default(expr: "request.time")
                  mood: Mood! @default(value: GOOD)
                  stars: Int! @default(value: 3)
                  tags: [String!]! @default(value: ["a"])
                  serial: Int64! @default(sql: "41 + 1")
                }
                """,
                .init(
                    "mutation M { note_insert(data: {}) { id owner at day mood stars tags serial } }",
                    auth: signedIn("ann"),
                    """
                    {"note_insert":{"id":"\(fresh)","owner":"ann","at":"2024-02-29T12:34:56.789000Z",\
                    "day":"2024-02-29","mood":"GOOD","stars":3,"tags":["a"],"serial":"42"}}
                    """
                )),
            SchemaRow(
                "ref",
                """
                type Country @table(key: "code") { code: String! }
                type Person @table(key: "nick") { nick: String! }
                type Home @table(key: "no") {
                  no: Int!
                  where: Country! @ref(fields: ["countryCode"], references: ["code"], constraintName: "home_country")
                  countryCode: String!
                  keeper: Person
                }
                """,
                .init(
                    #"mutation M { country_insert(data: {code: "x"}) person_insert(data: {nick: "p"}) }"#,
                    #"{"country_insert":{"code":"x"},"person_insert":{"nick":"p"}}"#),
                .init(
                    """
                    mutation M {
                      a: home_insert(data: {no: 1, where: {code: "x"}, keeper: {nick: "p"}})
                      b: home_insert(data: {no: 2, countryCode: "x", keeperNick: "p"}) { keeperNick }
                    }
                    """,
                    #"{"a":{"no":1},"b":{"keeperNick":"p"}}"#),
                .init(
                    #"mutation M { home_insert(data: {no: 3, countryCode: "none"}) }"#,
                    "!the row refers to one that does not exist"),
                .init(
                    """
                    query Q {
                      country(code: "x") { homes_on_where { no keeper { nick } } }
                      person(nick: "p") { homes_on_keeper { _count } }
                    }
                    """,
                    """
                    {"country":{"homes_on_where":[{"no":1,"keeper":{"nick":"p"}},{"no":2,"keeper":{"nick":"p"}}]},\
                    "person":{"homes_on_keeper":[{"_count":2}]}}
                    """
                ),
                .init(#"mutation M { person_delete(nick: "p") }"#, #"{"person_delete":{"nick":"p"}}"#),
                .init(
                    "query Q { homes { no keeperNick } }",
                    #"{"homes":[{"no":1,"keeperNick":null},{"no":2,"keeperNick":null}]}"#),
                .init(#"mutation M { country_delete(code: "x") }"#, #"{"country_delete":{"code":"x"}}"#),
                .init("query Q { homes { no } }", #"{"homes":[]}"#)),
            SchemaRow(
                "unique",
                """
                type Car @table(key: "plate") @unique(fields: ["make", "year"], indexName: "car_make_year") {
                  plate: String!
                  chassis: String @unique(indexName: "car_chassis")
                  make: String
                  year: Int
                }
                type Permit @table(key: "no") { no: Int! car: Car! @unique }
                """,
                .init(
                    """
                    mutation M {
                      car_insert(data: {plate: "a", chassis: "c", make: "m", year: 1})
                      permit_insert(data: {no: 1, car: {plate: "a"}})
                    }
                    """,
                    #"{"car_insert":{"plate":"a"},"permit_insert":{"no":1}}"#),
                .init(
                    #"mutation M { car_insert(data: {plate: "b", chassis: "c"}) }"#,
                    "!a row with the same unique values already exists"),
                .init(
                    #"mutation M { car_insert(data: {plate: "b", make: "m", year: 1}) }"#,
                    "!a row with the same unique values already exists"),
                .init(
                    #"mutation M { permit_insert(data: {no: 2, car: {plate: "a"}}) }"#,
                    "!a row with the same unique values already exists"),
                .init(
                    #"query Q { car(plate: "a") { permit_on_car { no } } }"#,
                    #"{"car":{"permit_on_car":{"no":1}}}"#)),
            SchemaRow(
                "index",
                """
                type Log @table @index(name: "log_recent", fields: ["source", "at"], order: [ASC, DESC]) {
                  source: String! @index
                  at: Timestamp!
                  tags: [String!] @index(type: GIN)
                  data: Any @index(type: GIN, name: "log_data")
                }
                """,
                .init(
                    """
                    mutation M {
                      log_insert(data: {source: "s", at: "2024-01-01T00:00:00Z", tags: ["x"], data: {a: 1}}) { source }
                    }
                    """,
                    #"{"log_insert":{"source":"s"}}"#),
                .init(
                    #"query Q { logs(where: {tags: {includes: "x"}}, orderBy: [{source: ASC}, {at: DESC}]) { data } }"#,
                    #"{"logs":[{"data":{"a": 1}}]}"#)),
            SchemaRow(
                "searchable",
                #"""
                type Book @table(key: "no") {
                  no: Int!
                  title: String! @searchable(language: "german")
                  blurb: String @searchable(language: "german")
                }
                """#,
                .init(
                    """
                    mutation M {
                      book_insertMany(
                        data: [{no: 1, title: "Die Häuser"}, {no: 2, title: "Garten", blurb: "ohne Haus und Haus"}]
                      )
                    }
                    """,
                    #"{"book_insertMany":[{"no":1},{"no":2}]}"#),
                .init(
                    """
                    query Q {
                      books_search(query: "Haus", orderBy: [{no: ASC}]) { no }
                      one: books_search(query: "Garten Haus") { no }
                    }
                    """,
                    #"{"books_search":[{"no":1},{"no":2}],"one":[{"no":2}]}"#)),
            SchemaRow(
                "default limit",
                """
                type Root @table(key: "no") { no: Int! }
                type Leaf @table(key: "no") { no: Int! root: Root! }
                """,
                .init("mutation M { root_insert(data: {no: 1}) }", #"{"root_insert":{"no":1}}"#),
                .init(
                    """
                    mutation M {
                      leaf_insertMany(data: [\((1...101).map { "{no: \($0), rootNo: 1}" }.joined())]) { __typename }
                    }
                    """,
                    #"{"leaf_insertMany":["#
                        + Array(repeating: #"{"__typename":"Leaf"}"#, count: 101).joined(separator: ",")
                        + "]}"
                ),
                .init(
                    """
                    query Q {
                      leafs { no }
                      root(no: 1) { leafs_on_root { no } }
                      all: leafs(limit: 101, offset: 99) { no }
                      n: leafs { _count }
                    }
                    """,
                    """
                    {"leafs":\(hundred),"root":{"leafs_on_root":\(hundred)},"all":[{"no":100},{"no":101}],\
                    "n":[{"_count":101}]}
                    """
                )),
        ]

        private static let hundred = "[\((1...100).map { "{\"no\":\($0)}" }.joined(separator: ","))]"

        @Test(arguments: rows) func row(_ row: SchemaRow) async throws { try await row.check(in: "schema") }
    }

    /// Scalars as columns, as variables and in results.
    @Suite struct Scalars {
        /// A table with one column of the type; a variable of the type goes in, the row comes out.
        private static func scalar(
            _ name: String, _ type: String, extra: String = "", _ values: (sent: String, found: String)...
        ) -> SchemaRow {
            let steps = values.enumerated().flatMap { number, value -> [SchemaRow.Step] in
                let isRefused = value.found.hasPrefix("!")
                let insert = SchemaRow.Step(
                    "mutation M($v: \(type)) { thing_insert(data: {no: \(number), v: $v}) { v } }",
                    "{\"v\": \(value.sent)}",
                    isRefused ? value.found : "{\"thing_insert\":{\"v\":\(value.found)}}")
                let read = SchemaRow.Step(
                    "query Q { thing(no: \(number)) { v } }",
                    "{\"thing\":{\"v\":\(value.found)}}")
                return isRefused ? [insert] : [insert, read]
            }
            return SchemaRow(
                name, sdl: "\(extra) type Thing @table(key: \"no\") { no: Int! v: \(type) }", steps: steps)
        }

        private static let uuid = #""6f1c2d3e00004000800000000000000a""#

        static let rows = [
            scalar(
                "UUID", "UUID", (#""6F1C2D3E-0000-4000-8000-00000000000A""#, uuid),
                (#""urn:uuid:6f1c2d3e-0000-4000-8000-00000000000a""#, uuid),
                (#""{6f1c2d3e-0000-4000-8000-00000000000a}""#, uuid), (uuid, uuid), ("null", "null"),
                (#""6f1c""#, "!variable \"$v\": expected a UUID")),
            scalar(
                "String", "String", (#""a\u00e9\"\n😀""#, #""aé\"\n😀""#), ("5", "!variable \"$v\": expected a string")),
            scalar(
                "Int", "Int", ("-2147483648", "-2147483648"), ("7.0", "7"),
                ("2147483648", "!variable \"$v\": expected a 32-bit integer")),
            scalar(
                "Float", "Float", ("1.25", "1.25"), ("3", "3"),
                (#""1""#, #"!variable "$v": expected a finite number"#)),
            scalar("Boolean", "Boolean", ("true", "true"), ("1", "!variable \"$v\": expected true or false")),
            scalar("lists", "[Int!]", ("[3, 1]", "[3,1]"), ("[]", "[]"), ("4", "[4]")),
            scalar(
                "Int64", "Int64", (#""9223372036854775807""#, #""9223372036854775807""#),
                ("9007199254740993", #""9007199254740993""#), ("-1", #""-1""#),
                (
                    #""9223372036854775808""#,
                    "!variable \"$v\": expected a 64-bit integer, as a number or a decimal string"
                )),
            scalar(
                "Date", "Date", (#""2024-02-29""#, #""2024-02-29""#),
                (#""2024-02-29T23:59:59-11:00""#, #""2024-02-29""#),
                (#""2023-02-29""#, "!variable \"$v\": expected a date, YYYY-MM-DD")),
            scalar(
                "Timestamp", "Timestamp", (#""2024-02-29T12:00:00Z""#, #""2024-02-29T12:00:00.000000Z""#),
                (#""2024-02-29T12:00:00.5+02:00""#, #""2024-02-29T10:00:00.500000Z""#),
                (#""9999-12-31T23:59:59.123456789Z""#, #""9999-12-31T23:59:59.123456Z""#),
                (#""1582-12-31T00:00:00Z""#, "!variable \"$v\": expected")),
            scalar(
                "Any", "Any", (#"{"b": [1, null, {"c": "x"}]}"#, #"{"b": [1, null, {"c": "x"}]}"#), ("false", "false")),
            scalar(
                "enum", "Mood", extra: "enum Mood { GOOD BAD }", (#""BAD""#, #""BAD""#),
                (#""SO""#, "!variable \"$v\": expected a value of Mood")),
        ]

        @Test(arguments: rows) func row(_ row: SchemaRow) async throws { try await row.check(in: "scalars") }
    }
}
