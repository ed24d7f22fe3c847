import TestSupport
import Testing

@testable import Operations

extension Language {
    /// Every operator of every type, the relations, and the ways to give a value.
    @Suite struct Filters {
        private static func titles(
            _ name: String, _ filter: String, _ variables: (String, String)? = nil, _ titles: String...
        )
            -> QueryRow
        {
            let rows = titles.map { "{\"title\":\"\($0)\"}" }.joined(separator: ",")
            return QueryRow(
                name, "query Q\(variables.map { "(\($0.0))" } ?? "") { novels(where: \(filter)) { title } }",
                variables?.1 ?? "{}", "{\"novels\":[\(rows)]}")
        }

        static let rows = [
            titles("string eq", #"{title: {eq: "Beta"}}"#, nil, "Beta"),
            titles("string ne", #"{title: {ne: "Beta"}}"#, nil, "Alpha", "Gamma", "Delta 50%_"),
            titles("string in nin", #"{title: {in: ["Beta", "Gamma"], nin: ["Gamma"]}}"#, nil, "Beta"),
            titles("string order", #"{title: {gt: "Alpha", le: "Delta"}}"#, nil, "Beta"),
            titles("string ge lt", #"{title: {ge: "Alpha", lt: "Beta"}}"#, nil, "Alpha"),
            titles("string contains", #"{title: {contains: "50%_"}}"#, nil, "Delta 50%_"),
            titles("string startsWith", #"{title: {startsWith: "Ga"}}"#, nil, "Gamma"),
            titles("string endsWith", #"{title: {endsWith: $t}}"#, ("$t: String!", #"{"t": "%_"}"#), "Delta 50%_"),
            titles("pattern like", #"{title: {pattern: {like: "%a"}}}"#, nil, "Alpha", "Beta", "Gamma"),
            titles(
                "pattern regex", #"{title: {pattern: {regex: "^[ab]", ignoreCase: true, invert: true}}}"#, nil, "Gamma",
                "Delta 50%_"),
            titles("string eq_expr", #"{title: {eq_expr: "vars.t + 'a'"}}"#, ("$t: String!", #"{"t": "Bet"}"#), "Beta"),
            titles("string order_expr", #"{title: {gt_expr: "'Delta'", lt_expr: "'Gamma'"}}"#, nil, "Delta 50%_"),
            titles("isNull true", "{description: {isNull: true}}", nil, "Gamma"),
            titles(
                "isNull variable", "{description: {isNull: $n}}", ("$n: Boolean", #"{"n": false}"#), "Alpha", "Beta",
                "Delta 50%_"),
            titles(
                "isNull absent", "{description: {isNull: $n}}", ("$n: Boolean", "{}"), "Alpha", "Beta", "Gamma",
                "Delta 50%_"),
            titles("eq null written", "{description: {eq: null}}", nil, "Gamma"),
            titles("ne null written", "{description: {ne: null}}", nil, "Alpha", "Beta", "Delta 50%_"),
            titles(
                "absent variable drops", "{title: {eq: $t}}", ("$t: String", "{}"), "Alpha", "Beta", "Gamma",
                "Delta 50%_"),
            titles(
                "null variable drops", "{title: {eq: $t}}", ("$t: String", #"{"t": null}"#), "Alpha", "Beta", "Gamma",
                "Delta 50%_"),
            titles(
                "uuid eq any spelling", "{externalId: {eq: $u}}",
                ("$u: UUID", #"{"u": "{D0000000-0000-4000-8000-000000000001}"}"#), "Alpha"),
            titles("uuid in", #"{externalId: {in: ["urn:uuid:<d2>"]}}"#, nil, "Delta 50%_"),
            titles("uuid eq_expr", #"{externalId: {eq_expr: "vars.u"}}"#, ("$u: UUID!", #"{"u": "<d1>"}"#), "Alpha"),
            titles("int", "{printedYear: {gt: 1950, lt: 1970}}", nil, "Beta"),
            titles("int expr", #"{printedYear: {ge_expr: "1960 + 10"}}"#, nil, "Gamma", "Delta 50%_"),
            titles("int64 beyond 2^53", #"{views: {eq: $v}}"#, ("$v: Int64", #"{"v": "9007199254740993"}"#), "Alpha"),
            titles("int64 in", "{views: {in: [20, 30], ne: 30}}", nil, "Beta"),
            titles("float", "{rating: {ge: 6.25, lt: 8}}", nil, "Beta", "Delta 50%_"),
            titles("float expr", #"{rating: {gt_expr: "7.5"}}"#, nil, "Alpha"),
            titles("boolean", "{isClassic: {eq: true}}", nil, "Alpha", "Delta 50%_"),
            titles("boolean ne_expr", #"{isClassic: {ne_expr: "1 == 1"}}"#, nil, "Beta"),
            titles("enum", "{genre: {in: [NOIR], ne: $g}}", ("$g: Genre", #"{"g": "EPIC"}"#), "Alpha", "Gamma"),
            titles("any eq", "{extras: {eq: {a: 1}}}", nil, "Alpha"),
            titles("any in", #"{extras: {in: ["text", [1, "x"]]}}"#, nil, "Gamma", "Delta 50%_"),
            titles("date", #"{launched: {lt: "1960-07-15T23:00:00+02:00"}}"#, nil, "Alpha"),
            titles("date expr", #"{launched: {eq_expr: "request.time"}}"#, nil, "Delta 50%_"),
            titles("date today", "{launched: {eq_date: {today: true}}}", nil, "Delta 50%_"),
            titles(
                "date on add truncate", #"{launched: {ge_date: {on: "2024-01-31", add: {months: 1}}}}"#, nil,
                "Delta 50%_"),
            titles(
                "date sub years", "{launched: {gt_date: {today: true, sub: {years: $y}, truncateTo: YEAR}}}",
                ("$y: Int!", #"{"y": 65}"#), "Beta", "Delta 50%_"),
            titles("time now", "{createdAt: {gt_time: {now: true, sub: {days: 2}}}}", nil, "Alpha"),
            titles(
                "time truncate week", "{createdAt: {ge_time: {now: true, truncateTo: WEEK}}}", nil, "Alpha"),
            titles(
                "time at add", "{createdAt: {eq_time: {at: $t, add: {hours: 12, minutes: 30}, sub: {minutes: 30}}}}",
                ("$t: Timestamp", #"{"t": "2024-02-28T02:00:00+02:00"}"#), "Alpha"),
            titles(
                "time absent base drops", "{createdAt: {eq_time: {at: $t}}}", ("$t: Timestamp", "{}"), "Alpha", "Beta",
                "Gamma", "Delta 50%_"),
            titles(
                "timestamp microseconds", #"{createdAt: {eq: "2023-12-31T23:59:59.123456789Z"}}"#, nil, "Gamma"),
            titles("list includes", #"{tags: {includes: "dark", excludes: "fun"}}"#, nil, "Alpha"),
            titles("list excludes null list", #"{tags: {excludes: "dark"}}"#, nil, "Beta", "Gamma"),
            titles("list all", #"{tags: {includesAll: ["dark", "fun"]}}"#, nil, "Delta 50%_"),
            titles(
                "list none", #"{tags: {excludesAll: $t}}"#, ("$t: [String!]", #"{"t": ["dark", "rain"]}"#), "Beta",
                "Gamma"),
            titles("list expr", #"{tags: {includes_expr: "'ra' + 'in'"}}"#, nil, "Alpha"),
            titles("list date", "{awardDates: {includes_date: {today: true}}}", nil, "Alpha"),
            titles("list isNull", "{tags: {isNull: true}}", nil, "Gamma"),
            titles(
                "and or not",
                """
                {_and: [{genre: {eq: NOIR}}, {_not: {title: {eq: "Gamma"}}}], _or: [{rating: {gt: 8}},\
                 {rating: {lt: 1}}]}
                """,
                nil, "Alpha"),
            titles("reference", #"{narrator: {name: {eq: "Ada"}}}"#, nil, "Alpha", "Delta 50%_"),
            titles("reference of reference", #"{narrator: {mentor: {name: {eq: "Ada"}}}}"#, nil, "Beta"),
            titles("one-to-one", #"{novelPrinting_on_novel: {binder: {eq: "Zenith"}}}"#, nil, "Alpha"),
            titles("list filter empty", "{remarks_on_novel: {}}", nil, "Alpha", "Beta", "Delta 50%_"),
            titles("exist", "{remarks_on_novel: {exist: {stars: {ge: 5}}}}", nil, "Alpha"),
            titles("count", "{remarks_on_novel: {count: {eq: $n}}}", ("$n: Int", #"{"n": 0}"#), "Gamma"),
            titles(
                "count of those that match", "{remarks_on_novel: {exist: {stars: {ge: 3}}, count: {ge: 2}}}", nil,
                "Alpha"),
            titles(
                "count of none that match", "{remarks_on_novel: {exist: {stars: {gt: 3}}, count: {eq: 0}}}", nil,
                "Beta", "Gamma", "Delta 50%_"),
            titles(
                "via exist", #"{people_via_NovelMaker: {exist: {name: {eq: "Ben"}}}}"#, nil, "Alpha",
                "Beta"),
            titles("view filter", "{novelStats_on_novel: {averageStars: {ge: 3.5}}}", nil, "Alpha"),
            titles(
                "variable of filter type", "$f",
                ("$f: Novel_Filter", #"{"f": {"genre": {"eq": "NOIR"}, "_not": {"rating": {"isNull": true}}}}"#),
                "Alpha"),
            titles(
                "filter variable inside",
                #"{_or: [$f, {title: {eq: "Beta"}}]}"#,
                (
                    "$f: Novel_Filter!",
                    """
                    {
                      "f": {
                        "_or": [{"title": {"pattern": {"like": "g%", "ignoreCase": true}}}, {"views": {"in": ["40"]}}]
                      }
                    }
                    """
                ),
                "Beta", "Gamma", "Delta 50%_"),
            titles(
                "filter variable relations", "{remarks_on_novel: {exist: $r}, narrator: $d}",
                (
                    "$r: Remark_Filter, $d: Person_Filter",
                    #"{"r": {"author": {"name": {"startsWith": "A"}}}, "d": {"mentor": {"name": {"ne": null}}}}"#
                ),
                "Beta"),
            titles(
                "filter variable null", "$f", ("$f: Novel_Filter", #"{"f": null}"#), "Alpha", "Beta", "Gamma",
                "Delta 50%_"),
            titles(
                "filter variable with times", "$f",
                (
                    "$f: Novel_Filter",
                    """
                    {
                      "f": {
                        "createdAt": {"gt_time": {"now": true, "sub": {"days": 60}, "truncateTo": "MONTH"}},
                        "launched": {"le_date": {"on": "1950-02-01", "add": {"months": 1}}},
                        "awardDates": {"includes_date": {"today": true}}
                      }
                    }
                    """
                ),
                "Alpha"),
            titles(
                "filter variable with counts", "$f",
                (
                    "$f: Novel_Filter",
                    """
                    {
                      "f": {
                        "remarks_on_novel": {"exist": {"stars": {"ge": 3}}, "count": {"lt": 2}},
                        "_not": {"remarks_on_novel": {"count": {"eq": 0}}}
                      }
                    }
                    """
                ),
                "Beta", "Delta 50%_"),
            titles(
                "list of filters", "{_or: $f, _and: $g}",
                (
                    "$f: [Novel_Filter!]!, $g: [Novel_Filter!]",
                    #"{"f": [{"genre": {"eq": "FARCE"}}, {"rating": {"gt": 8}}], "g": [{"title": {"ne": "Beta"}}]}"#
                ),
                "Alpha"),
            titles(
                "list of filters empty", "{_or: $f}", ("$f: [Novel_Filter!]", #"{"f": []}"#), "Alpha", "Beta", "Gamma",
                "Delta 50%_"),
            titles(
                "variable of operators", "{title: $t, printedYear: $y, tags: $l, remarks_on_novel: $r}",
                (
                    "$t: String_Filter, $y: Int_Filter!, $l: String_ListFilter, $r: Remark_ListFilter",
                    """
                    {
                      "t": {"contains": "a", "ne": "Beta"},
                      "y": {"in": [1950, 1960, 1970]},
                      "l": null,
                      "r": {"count": {"ge": 1}}
                    }
                    """
                ),
                "Alpha", "Delta 50%_"),
            titles(
                "default of a filter variable", "$f",
                ("$f: Novel_Filter = {genre: {in: [NOIR]}, printedYear: {gt: 1950}}", "{}"), "Gamma"),
            titles(
                "variable of a relative time", "{createdAt: {gt_time: $t}, launched: {lt_date: $d}}",
                (
                    "$t: Timestamp_Relative, $d: Date_Relative",
                    """
                    {
                      "t": {"now": true, "sub": {"days": 60}, "truncateTo": "MONTH"},
                      "d": {"on": "1950-01-01", "add": {"months": 3}}
                    }
                    """
                ),
                "Alpha"),
            titles(
                "absent variable of a relative time drops", "{createdAt: {gt_time: $t}, launched: {eq_date: $d}}",
                ("$t: Timestamp_Relative, $d: Date_Relative", #"{"t": null, "d": {"today": true}}"#), "Delta 50%_"),
            titles(
                "default of a relative time", "{createdAt: {gt_time: $t}}",
                ("$t: Timestamp_Relative = {now: true, sub: {days: 2}}", "{}"), "Alpha"),
            titles(
                "variable of a duration", "{createdAt: {ge_time: {now: true, sub: $d, add: $n}}}",
                (
                    "$d: Timestamp_Duration!, $n: Timestamp_Duration",
                    #"{"d": {"months": 1, "days": 1, "hours": null}}"#
                ),
                "Alpha", "Beta"),
            titles(
                "default of a duration", "{launched: {gt_date: {on: $d, add: $n}}}",
                ("$d: Date, $n: Date_Duration = {years: 1}", #"{"d": "1959-07-15"}"#), "Delta 50%_"),
            titles(
                "variable of a pattern", "{title: {pattern: $p}}",
                ("$p: String_Pattern!", #"{"p": {"regex": "^[ab]", "ignoreCase": true, "invert": true}}"#), "Gamma",
                "Delta 50%_"),
            titles(
                "variable of a pattern with like", "{title: {pattern: $p, ne: $n}}",
                ("$p: String_Pattern, $n: String", #"{"p": {"like": "%a"}, "n": "Beta"}"#), "Alpha", "Gamma"),
            titles(
                "null variable of a pattern drops", "{title: {pattern: $p, startsWith: \"A\"}}",
                ("$p: String_Pattern", #"{"p": null}"#), "Alpha"),
            titles(
                "filter variable eq null", "$f",
                ("$f: Novel_Filter", #"{"f": {"description": {"eq": null}, "title": null}}"#), "Gamma"),
        ]

        @Test(arguments: rows) func row(_ row: QueryRow) async throws { try await row.check("filters") }

        /// The operators, and the suffixes of their other spellings: `eq`, and `_expr` of `eq_expr`.
        private static let spellings = Set(
            FilterOperator.all.flatMap { spelling in
                let parts = spelling.name.split(separator: "_", maxSplits: 1)
                return parts.indices.map { ($0 == 0 ? "" : "_") + parts[$0] }
            })

        @Test func everyOperatorHasARow() throws {
            let texts = Self.rows.flatMap { [$0.operation, $0.variables] }
            #expect(Self.spellings.isSuperset(of: ["eq", "excludesAll", "_expr", "_date", "_time"]))
            for spelling in Self.spellings {
                let start = spelling.hasPrefix("_") ? "" : "\\b"
                let use = try Regex("\(start)\(spelling)(?:_expr|_date|_time)?\"?:")
                #expect(texts.contains { $0.contains(use) }, "no row of FilterTests has \(spelling)")
            }
        }

        @Test func everyOperatorIsInTheReference() throws {
            let page = try Repository.text("docs/reference/sql-connect.md")
            let section = try #require(page.split(separator: "\n### ").first { $0.hasPrefix("5.5 Filters\n") })
            for spelling in Self.spellings {
                let start = spelling.hasPrefix("_") ? "" : "\\b"
                let named = try Regex("\(start)\(spelling)(?![A-Za-z])")
                #expect(section.contains(named), "docs/reference/sql-connect.md §5.5 lacks \(spelling)")
            }
        }
    }
}
