import Testing

extension Language {
    /// Small projects, each around one construct that SQL Connect compiles: compiled, migrated, printed (see
    /// `GraphQLCoreTests`) and run.
    @Suite struct Compatibility {
        static let rows = names + relations + values

        private static let names = [
            SchemaRow(
                "fields named like generated ones",
                """
                type User @table { name: String! }
                type Room @table { user: User! user_count: Int! }
                type Shipment @table { room: Room! room_date: Date room_expr: String room_max: Int }
                type Bill @table { paid: Boolean! paid_date: Date paid_update: Int paid_min: Int paid_embed: Int }
                """,
                .init(
                    """
                    mutation M @transaction {
                      user_insert(data: {id: "<m1>", name: "Ann"})
                      room_insert(data: {id: "<m2>", userId: "<m1>", user_count: 3})
                      shipment_insert(data: {id: "<m3>", roomId: "<m2>", room_date: "2024-02-29", room_expr: "x"})
                      bill_insert(data: {id: "<m4>", paid_expr: "true", paid_date: "2024-02-29", paid_update: 4})
                    }
                    """,
                    """
                    {"user_insert":{"id":"<m1>"},"room_insert":{"id":"<m2>"},"shipment_insert":{"id":"<m3>"},\
                    "bill_insert":{"id":"<m4>"}}
                    """),
                .init(
                    """
                    mutation M($bill: Bill_Data! @allow(fields: "paid_update paid_date")) {
                      bill_update(id: "<m4>", data: $bill)
                    }
                    """,
                    #"{"bill": {"paid_update": 5}}"#, #"{"bill_update":{"id":"<m4>"}}"#),
                .init(
                    """
                    query Q {
                      rooms(where: {user_count: {ge: 3}}, orderBy: [{user_count: ASC}]) { user { name } user_count }
                      counted: rooms { userId_count user_count_max }
                      shipments { room_date room_expr room_max }
                      bills(where: {paid_date: {eq_date: {today: true}}}) { paid paid_date paid_update }
                    }
                    """,
                    """
                    {"rooms":[{"user":{"name":"Ann"},"user_count":3}],\
                    "counted":[{"userId_count":1,"user_count_max":3}],\
                    "shipments":[{"room_date":"2024-02-29","room_expr":"x","room_max":null}],\
                    "bills":[{"paid":true,"paid_date":"2024-02-29","paid_update":5}]}
                    """)),
            SchemaRow(
                "singulars",
                """
                type SEO @table { page: String! }
                type UUIDVariants @table { of: SEO! label: String! }
                type AIPreset @table { title: String! }
                """,
                .init(
                    """
                    mutation M @transaction {
                      sEO_insert(data: {id: "<m1>", page: "home"})
                      uUIDVariants_insert(data: {ofId: "<m1>", label: "v4"}) { label }
                      aIPreset_insert(data: {title: "warm"}) { title }
                    }
                    """,
                    """
                    {"sEO_insert":{"id":"<m1>"},"uUIDVariants_insert":{"label":"v4"},"aIPreset_insert":{"title":"warm"}}
                    """),
                .init(
                    """
                    query Q {
                      sEO(id: "<m1>") { page uUIDVariantss_on_of { label of { page } } }
                      sEOS { page }
                      aIPresets { title }
                      tables: _select(
                        sql: "SELECT relname FROM pg_class WHERE relname ~ '^(seo|uuid_variants|ai_preset)$' ORDER BY 1"
                      )
                    }
                    """,
                    """
                    {"sEO":{"page":"home","uUIDVariantss_on_of":[{"label":"v4","of":{"page":"home"}}]},\
                    "sEOS":[{"page":"home"}],"aIPresets":[{"title":"warm"}],\
                    "tables":[{"relname":"ai_preset"},{"relname":"seo"},{"relname":"uuid_variants"}]}
                    """)),
        ]

        private static let relations = [
            SchemaRow(
                "filter through a join table",
                """
                type Letter @table { subject: String! }
                type Friend @table(key: "uid") { uid: String! }
                type Recipient @table(key: ["letter", "friend"]) { letter: Letter! friend: Friend! copy: Boolean }
                """,
                sql: """
                    INSERT INTO friend VALUES ('ann'), ('bob');
                    INSERT INTO letter (id, subject) VALUES ('<m1>', 'both'), ('<m2>', 'bob only'), ('<m3>', 'nobody');
                    INSERT INTO recipient (letter_id, friend_uid) VALUES
                      ('<m1>', 'ann'), ('<m1>', 'bob'), ('<m2>', 'bob');
                    """,
                .init(
                    """
                    query Q($uid: String!) {
                      letters(where: {friends_via_Recipient: {exist: {uid: {eq: $uid}}}}) { subject }
                      toMany: letters(where: {friends_via_Recipient: {count: {ge: 2}}}) { subject }
                      toNone: letters(where: {friends_via_Recipient: {exist: {uid: {eq: $uid}}, count: {eq: 0}}},
                        orderBy: [{subject: ASC}]) { subject }
                    }
                    """,
                    #"{"uid": "ann"}"#,
                    """
                    {"letters":[{"subject":"both"}],"toMany":[{"subject":"both"}],\
                    "toNone":[{"subject":"bob only"},{"subject":"nobody"}]}
                    """),
                .init(
                    "query Q($f: Letter_Filter) { letters(where: $f) { subject } }",
                    #"{"f": {"friends_via_Recipient": {"exist": {"uid": {"eq": "ann"}}}}}"#,
                    #"{"letters":[{"subject":"both"}]}"#),
                .init(
                    "query Q($f: Friend_ListFilter) { letters(where: {friends_via_Recipient: $f}) { subject } }",
                    #"{"f": {"exist": {"uid": {"eq": "ann"}}, "count": {"eq": 1}}}"#,
                    #"{"letters":[{"subject":"both"}]}"#)),
            SchemaRow(
                "required references in a cycle",
                """
                type Node @table { parent: Node! name: String! }
                type Team @table { captain: Player! name: String! }
                type Player @table { team: Team! name: String! }
                """,
                .init(
                    #"mutation M { node_insert(data: {id: "<m1>", parent: {id: "<m1>"}, name: "root"}) }"#,
                    #"{"node_insert":{"id":"<m1>"}}"#),
                .init(
                    #"mutation M { team_insert(data: {id: "<m2>", captainId: "<m3>", name: "Reds"}) }"#, "!"),
                .init(
                    """
                    mutation M {
                      team_insert(
                        data: {
                          id: "<m2>", captainId: "<m3>", name: "Reds", players_on_team: [{id: "<m3>", name: "Ann"}]
                        }
                      )
                    }
                    """,
                    #"{"team_insert":{"id":"<m2>"}}"#),
                .init(
                    "query Q { nodes { parent { name } } teams { captain { name team { name } } } }",
                    """
                    {"nodes":[{"parent":{"name":"root"}}],"teams":[{"captain":{"name":"Ann","team":{"name":"Reds"}}}]}
                    """)),
            SchemaRow(
                "one-to-one nested data",
                """
                type Person @table { name: String! }
                type Badge @table { person: Person! @unique color: String! }
                """,
                .init(
                    """
                    mutation M { person_insert(data: {id: "<m1>", name: "Ann", badge_on_person: {color: "red"}}) }
                    """,
                    #"{"person_insert":{"id":"<m1>"}}"#),
                .init(
                    """
                    mutation M($b: Badge_Data @allow(fields: "id color")) {
                      person_insert(data: {id: "<m2>", name: "Bob", badge_on_person: $b})
                    }
                    """,
                    #"{"b": {"id": "<m2>", "color": "blue"}}"#, #"{"person_insert":{"id":"<m2>"}}"#),
                .init(
                    """
                    mutation M($b: Badge_Data @allow(fields: "id color")) {
                      person_insert(data: {id: "<m3>", name: "Cid", badge_on_person: $b})
                    }
                    """,
                    #"{"b": null}"#, #"{"person_insert":{"id":"<m3>"}}"#),
                .init(
                    """
                    mutation M($p: Person_Data! @allow(fields: "id name badge_on_person { id color }")) {
                      person_insert(data: $p)
                    }
                    """,
                    #"{"p": {"id": "<m4>", "name": "Dee", "badge_on_person": {"id": "<m4>", "color": "green"}}}"#,
                    #"{"person_insert":{"id":"<m4>"}}"#),
                .init(
                    "query Q { people(orderBy: [{name: ASC}]) { name badge_on_person { color } } }",
                    """
                    {"people":[{"name":"Ann","badge_on_person":{"color":"red"}},\
                    {"name":"Bob","badge_on_person":{"color":"blue"}},{"name":"Cid","badge_on_person":null},\
                    {"name":"Dee","badge_on_person":{"color":"green"}}]}
                    """)),
        ]

        private static let values = [
            SchemaRow(
                "query format by a variable",
                "type Note @table { text: String! @searchable }",
                sql: "INSERT INTO note (text) VALUES ('rainy city'), ('city of rain')",
                .init(
                    """
                    query Q($format: Search_QueryFormat!) {
                      notes_search(query: "rainy city", queryFormat: $format) { text }
                    }
                    """,
                    #"{"format": "PHRASE"}"#, #"{"notes_search":[{"text":"rainy city"}]}"#),
                .init(
                    """
                    query Q($format: Search_QueryFormat = ADVANCED) {
                      notes_search(query: "rainy & !of", queryFormat: $format) { text }
                    }
                    """,
                    #"{"notes_search":[{"text":"rainy city"}]}"#),
                .init(
                    """
                    query Q($format: Search_QueryFormat) {
                      notes_search(query: "rainy -of", queryFormat: $format) { text }
                    }
                    """,
                    #"{"notes_search":[{"text":"rainy city"}]}"#),
                .init(
                    """
                    query Q($format: Search_QueryFormat!) {
                      notes_search(query: "rainy", queryFormat: $format) { text }
                    }
                    """,
                    #"{"format": "FUZZY"}"#, "!variable \"$format\": expected")),
            SchemaRow(
                "variables inside Any",
                "type Event @table { name: String! details: Any at: Timestamp }",
                .init(
                    """
                    mutation M($who: String!, $n: Int, $tags: [String!], $absent: String, $at: Timestamp) {
                      event_insert(
                        data: {
                          id: "<m1>"
                          name: $who
                          details: {who: $who, at: $at, deep: [{n: $n, fixed: true}, $tags, $absent], gone: $absent}
                        }
                      )
                    }
                    """,
                    #"{"who": "ann", "n": 3, "tags": ["a", "b"], "at": "2024-02-29T12:00:00Z"}"#,
                    #"{"event_insert":{"id":"<m1>"}}"#),
                .init(
                    "query Q($n: Int) { events(where: {details: {ne: {n: $n}}}) { details } }", #"{"n": 3}"#,
                    """
                    {"events":[{"details":{"at": "2024-02-29T12:00:00.000000Z", "who": "ann", \
                    "deep": [{"n": 3, "fixed": true}, ["a", "b"], null]}}]}
                    """)),
            SchemaRow(
                "nullable key with a default",
                #"type Page @table { id: String @default(expr: "uuidV4()") title: String }"#,
                .init(
                    #"mutation M { page_insert(data: {title: "fresh"}) { title } }"#,
                    #"{"page_insert":{"title":"fresh"}}"#),
                .init(
                    #"mutation M { page_insert(data: {id: "own"}) }"#, #"{"page_insert":{"id":"own"}}"#),
                .init(#"query Q { page(id: "own") { id title } }"#, #"{"page":{"id":"own","title":null}}"#)),
            SchemaRow(
                "insert without a required column",
                "type Task @table { title: String! done: Boolean! }",
                .init(#"mutation M { task_insert(data: {title: "x"}) }"#, "!a required field has no value"),
                .init(
                    "mutation M($t: String, $d: Boolean!) { task_insert(data: {title: $t, done: $d}) }",
                    #"{"d": true}"#, "!a required field has no value"),
                .init(
                    "mutation M($t: String, $d: Boolean!) { task_insert(data: {title: $t, done: $d}) { title } }",
                    #"{"t": "x", "d": true}"#, #"{"task_insert":{"title":"x"}}"#)),
            SchemaRow(
                "data types",
                """
                enum TaskState { OPEN DONE }
                type Task @table {
                  state: TaskState! @col(dataType: "task_state")
                  states: [TaskState!] @col(dataType: "task_state[]")
                  due: Timestamp @col(dataType: "timestamp")
                  runs: [Timestamp!] @col(dataType: "timestamp")
                  at: Timestamp! @col(dataType: "timestamp") @default(expr: "request.time")
                }
                """,
                .init(
                    """
                    mutation M($due: Timestamp) {
                      task_insert(
                        data: {
                          id: "<m1>", state: OPEN, states: [OPEN, DONE], due: $due, runs: ["2024-01-01T01:00:00+02:00"]
                        }
                      )
                    }
                    """,
                    #"{"due": "2024-02-29T14:00:00+02:00"}"#, #"{"task_insert":{"id":"<m1>"}}"#),
                .init(
                    #"mutation M { task_update(id: "<m1>", data: {due_update: [{inc: {days: 1}}]}) }"#,
                    #"{"task_update":{"id":"<m1>"}}"#),
                .init(
                    """
                    query Q($due: Timestamp, $run: Timestamp!) {
                      tasks(
                        where: {state: {eq: OPEN}, due: {eq: $due}, runs: {includes: $run}, at: {le_time: {now: true}}}
                      ) { state states due runs at }
                      last: tasks { due_max }
                    }
                    """,
                    #"{"due": "2024-03-01T12:00:00Z", "run": "2023-12-31T23:00:00Z"}"#,
                    """
                    {"tasks":[{"state":"OPEN","states":["OPEN","DONE"],"due":"2024-03-01T12:00:00.000000Z",\
                    "runs":["2023-12-31T23:00:00.000000Z"],"at":"2024-02-29T12:34:56.789000Z"}],\
                    "last":[{"due_max":"2024-03-01T12:00:00.000000Z"}]}
                    """)),
            SchemaRow(
                "padded text",
                """
                type Country @table(key: "code") {
                  code: String! @col(dataType: "char(3)")
                  name: String!
                  aliases: [String!] @col(dataType: "char(3)")
                }
                type City @table { country: Country! name: String! }
                """,
                .init(
                    #"mutation M { country_insert(data: {code: "de", name: "Germany", aliases: ["d", "ger"]}) }"#,
                    #"{"country_insert":{"code":"de"}}"#),
                .init(
                    #"mutation M { city_insert(data: {id: "<m1>", country: {code: "de"}, name: "Ulm"}) }"#,
                    #"{"city_insert":{"id":"<m1>"}}"#),
                .init(
                    """
                    query Q($code: String!) {
                      country(code: $code) { code _id aliases cities_on_country { countryCode } }
                      countries(where: {code: {eq: $code}}) { code }
                      listed: countries(where: {code: {in: [$code]}, aliases: {includes: "d"}}) { code }
                      cities(where: {country: {code: {eq: $code}}}) { countryCode }
                      least: countries { code_min }
                    }
                    """,
                    #"{"code": "de"}"#,
                    """
                    {"country":{"code":"de","_id":"Country[\\"de\\"]","aliases":["d","ger"],\
                    "cities_on_country":[{"countryCode":"de"}]},"countries":[{"code":"de"}],"listed":[{"code":"de"}],\
                    "cities":[{"countryCode":"de"}],"least":[{"code_min":"de"}]}
                    """)),
        ]

        @Test("Every project in Projects", arguments: ProjectFile.rows)
        func projectFile(_ row: SchemaRow) async throws { try await row.check(in: nil) }

        @Test func theFolderHasProjects() { #expect(ProjectFile.rows.count >= 40 && ProjectFile.vectorRows.count >= 2) }

        @Test(arguments: rows) func project(_ row: SchemaRow) async throws { try await row.check(in: "compatibility") }
    }
}
