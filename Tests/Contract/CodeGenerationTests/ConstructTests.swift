import CodeGeneration
import Testing

/// Every construct of the language, with the type that a result or variable gets. TypeScript stands for all languages:
/// their types come from the same description.
@Suite struct ConstructTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let construct: String
        let operation: String
        var data: String?
        var variables: String?
        var testDescription: String { construct }
    }

    static let schema = """
        enum Genre { DRAMA COMEDY }
        type Movie @table {
          title: String! @searchable
          year: Int
          rating: Float
          genre: Genre
          tags: [String!]
          views: Int64!
          isNew: Boolean!
          released: Date
          seenAt: Timestamp
          extra: Any
          vector: Vector @col(size: 2)
        }
        type User @table(key: "uid") { uid: String! name: String! best: Movie @unique }
        type Review @table(key: ["movie", "user"]) { movie: Movie! user: User! stars: Int! }
        type Note @table { review: Review! text: String! }
        type Stat @view(sql: "select genre, count(*) as n from movie group by genre") { genre: Genre n: Int64 }
        """

    static let rows: [Row] = [
        // Variables
        Row(
            construct: "required variable", operation: "query Q($a: Int!) { movies(limit: $a) { year } }",
            data: "movies: ({ year?: number | null; })[];", variables: "a: number;"),
        Row(
            construct: "nullable variable", operation: "query Q($a: Int) { movies(limit: $a) { year } }",
            variables: "a?: number | null;"),
        Row(
            construct: "variable with default", operation: "query Q($a: Int = 5) { movies(limit: $a) { year } }",
            variables: "a?: number | null;"),
        Row(
            construct: "non-null variable with default",
            operation: "query Q($a: Int! = 5) { movies(limit: $a) { year } }", variables: "a?: number;"),
        Row(
            construct: "list variable",
            operation: "query Q($a: [String!]) { movies(where: {title: {in: $a}}) { year } }",
            variables: "a?: string[] | null;"),
        Row(
            construct: "enum variable",
            operation: "query Q($a: Genre!) { movies(where: {genre: {eq: $a}}) { year } }", variables: "a: Genre;"),
        Row(
            construct: "order variable",
            operation: "query Q($a: OrderDirection) { movies(orderBy: [{year: $a}]) { year } }",
            variables: "a?: OrderDirection | null;"),
        Row(
            construct: "search format variable",
            operation:
                "query Q($a: String!, $b: Search_QueryFormat) { movies_search(query: $a, queryFormat: $b) { year } }",
            variables: "a: string; b?: Search_QueryFormat | null;"),
        Row(
            construct: "filter variable", operation: "query Q($a: Movie_Filter) { movies(where: $a) { year } }",
            variables: "a?: Movie_Filter | null;"),
        Row(
            construct: "key variable", operation: "query Q($a: Review_Key!) { review(key: $a) { stars } }",
            data: "review?: { stars: number; };", variables: "a: Review_Key;"),
        Row(
            construct: "first row variable", operation: "query Q($a: Movie_FirstRow!) { movie(first: $a) { year } }",
            variables: "a: Movie_FirstRow;"),
        Row(
            construct: "vector variable",
            operation: "query Q($a: Vector!) { movies_vector_similarity(compare: $a) { year } }",
            variables: "a: number[];"),
        Row(
            construct: "relative time variable",
            operation: "query Q($a: Timestamp_Relative) { movies(where: {seenAt: {gt_time: $a}}) { year } }",
            variables: "a?: Timestamp_Relative | null;"),
        Row(
            construct: "row variable with @allow",
            operation: "mutation Q($a: Movie_Data! @allow(fields: \"title year\")) { movie_insert(data: $a) }",
            data: "movie_insert: Movie_Key;", variables: "a: QAInput;"),
        Row(
            construct: "update variable",
            operation: "mutation Q($id: UUID!, $a: [Int_Update!]) { movie_update(id: $id, data: {year_update: $a}) }",
            variables: "id: UUIDString; a?: Int_Update[] | null;"),
        Row(
            construct: "scalars as variables",
            operation: """
                mutation Q($a: Boolean!, $b: Int64!, $c: Date, $d: Timestamp, $e: Any, $f: Float, $g: Vector) {
                  movie_insert(data: {
                    title: "a", isNew: $a, views: $b, released: $c, seenAt: $d, extra: $e, rating: $f, vector: $g
                  })
                }
                """,
            variables: "a: boolean; b: Int64String; c?: DateString | null; d?: TimestampString | null;"
                + " e?: unknown | null; f?: number | null; g?: number[] | null;"),
        // Results
        Row(
            construct: "scalars and nulls",
            operation: "query Q { movies { title rating genre tags views isNew released seenAt extra vector } }",
            data: "movies: ({ title: string; rating?: number | null; genre?: Genre | null; tags?: string[] | null;"
                + " views: Int64String; isNew: boolean; released?: DateString | null;"
                + " seenAt?: TimestampString | null; extra?: unknown | null; vector?: number[] | null; })[];"),
        Row(
            construct: "single row with its key", operation: "query Q($id: UUID!) { movie(id: $id) { id title } }",
            data: "movie?: { id: UUIDString; title: string; } & Movie_Key;"),
        Row(
            construct: "key of several columns, selected whole",
            operation: "query Q { reviews { movieId userUid stars } }",
            data: "reviews: ({ movieId: UUIDString; userUid: string; stars: number; } & Review_Key)[];"),
        Row(
            construct: "part of a key", operation: "query Q { reviews { movieId } }",
            data: "reviews: ({ movieId: UUIDString; })[];"),
        Row(
            construct: "key under an alias", operation: "query Q { movies { movieId: id } }",
            data: "movies: ({ movieId: UUIDString; })[];"),
        Row(
            construct: "aliases of root fields",
            operation: "query Q { new: movies(where: {isNew: {eq: true}}) { id } all: movies { year } }",
            data: "new: ({ id: UUIDString; } & Movie_Key)[]; all: ({ year?: number | null; })[];"),
        Row(
            construct: "reference, nullable reference",
            operation: "query Q { reviews { movie { title } user { best { title } } } }",
            data: "reviews: ({ movie: { title: string; }; user: { best?: { title: string; }; }; })[];"),
        Row(
            construct: "one-to-many, one-to-one, many-to-many",
            operation:
                "query Q { movies { reviews_on_movie { stars } user_on_best { name } users_via_Review { uid } } }",
            data: "movies: ({ reviews_on_movie: ({ stars: number; })[]; user_on_best?: { name: string; };"
                + " users_via_Review: ({ uid: string; } & User_Key)[]; })[];"),
        Row(
            construct: "aggregates", operation: "query Q { movies { genre _count year_sum rating_avg title_max } }",
            data: "movies: ({ genre?: Genre | null; _count: number; year_sum?: number | null;"
                + " rating_avg?: number | null; title_max?: string | null; })[];"),
        Row(
            construct: "search and similarity",
            operation: """
                query Q($w: String!, $v: Vector!) {
                  movies_search(query: $w) { _metadata { relevance } }
                  movies_vector_similarity(compare: $v) { _metadata { distance } }
                }
                """,
            data: "movies_search: ({ _metadata?: { relevance?: number | null; }; })[];"
                + " movies_vector_similarity: ({ _metadata?: { distance?: number | null; }; })[];"),
        Row(
            construct: "view", operation: "query Q { stats { genre n } }",
            data: "stats: ({ genre?: Genre | null; n?: Int64String | null; })[];"),
        Row(
            construct: "__typename and _id", operation: "query Q { __typename movies { __typename _id } }",
            data: "__typename: string; movies: ({ __typename: string; _id: string; })[];"),
        Row(
            construct: "named and inline fragments",
            operation:
                "query Q { movies { ...F ... on Movie { year } ... { rating } title } } fragment F on Movie { title }",
            data: "movies: ({ title: string; year?: number | null; rating?: number | null; })[];"),
        Row(
            construct: "equal fields merge",
            operation: "query Q { reviews { movie { title } movie { year } } }",
            data: "reviews: ({ movie: { title: string; year?: number | null; }; })[];"),
        Row(
            construct: "@skip, @include",
            operation: "query Q($a: Boolean!) { movies { title @include(if: $a) year @skip(if: $a) } }",
            data: "movies: ({ title?: string; year?: number | null; })[];"),
        Row(
            construct: "a field that one place always includes",
            operation: "query Q($a: Boolean!) { movies { title title @include(if: $a) } }",
            data: "movies: ({ title: string; })[];"),
        Row(
            construct: "constant conditions",
            operation: "query Q { movies { title @include(if: false) year @skip(if: false) } }",
            data: "movies: ({ year?: number | null; })[];"),
        Row(
            construct: "@redact",
            operation: "query Q { movies { title year @redact @check(expr: \"true\") ... @redact { rating } } }",
            data: "movies: ({ title: string; })[];"),
        Row(
            construct: "native SQL",
            operation: "query Q { _select(sql: \"select 1\") one: _selectFirst(sql: \"select 1\") }",
            data: "_select?: (unknown | null)[] | null; one?: unknown | null;"),
        // Mutations
        Row(
            construct: "insert, upsert",
            operation: """
                mutation Q {
                  movie_insert(data: {title: "a", views: 0, isNew: true})
                  again: movie_upsert(data: {title: "a", views: 0, isNew: true})
                }
                """,
            data: "movie_insert: Movie_Key; again: Movie_Key;"),
        Row(
            construct: "update, delete",
            operation: "mutation Q($id: UUID!) { movie_update(id: $id, data: {year: 1}) movie_delete(id: $id) }",
            data: "movie_update?: Movie_Key | null; movie_delete?: Movie_Key | null;"),
        Row(
            construct: "many",
            operation: """
                mutation Q {
                  movie_insertMany(data: [{title: "a", views: 0, isNew: true}])
                  movie_updateMany(all: true, data: {year: 1})
                  movie_deleteMany(where: {year: {eq: 1}})
                }
                """,
            data: "movie_insertMany: Movie_Key[]; movie_updateMany: number; movie_deleteMany: number;"),
        Row(
            construct: "key of several columns in a mutation",
            operation: "mutation Q($id: UUID!) { review_delete(key: {movieId: $id, userUid_expr: \"auth.uid\"}) }",
            data: "review_delete?: Review_Key | null;", variables: "id: UUIDString;"),
        Row(
            construct: "read step",
            operation:
                "mutation Q($id: UUID!) @transaction { query { movie(id: $id) { title } } movie_delete(id: $id) }",
            data: "query: { movie?: { title: string; }; }; movie_delete?: Movie_Key | null;"),
        Row(
            construct: "redacted read step",
            operation: """
                mutation Q($id: UUID!) @transaction {
                  query @redact { movie(id: $id) @check(expr: "this != null") { title } }
                  movie_delete(id: $id)
                }
                """,
            data: "movie_delete?: Movie_Key | null;"),
        Row(
            construct: "native SQL that writes",
            operation: """
                mutation Q {
                  _execute(sql: "delete from note")
                  rows: _executeReturning(sql: "delete from note returning *")
                  row: _executeReturningFirst(sql: "delete from note returning *")
                }
                """,
            data: "_execute?: number | null; rows?: (unknown | null)[] | null; row?: unknown | null;"),
    ]

    @Test(arguments: rows)
    func constructHasItsType(_ row: Row) throws {
        let snippet = try Snippet(schema: Self.schema, operations: row.operation)
        if let data = row.data { #expect(snippet.interface("QData") == data) }
        #expect(snippet.interface("QVariables") == row.variables || row.variables == nil)
        if let variables = row.variables { #expect(snippet.interface("QVariables") == variables) }
    }

    @Test func rowsThatVariablesSupplyHaveTheAllowedFieldsOnly() throws {
        let snippet = try Snippet(
            schema: Self.schema,
            operations: """
                mutation Q($a: Movie_Data! @allow(fields: "title year_update reviews_on_movie { stars userUid }")) {
                  movie_upsert(data: $a)
                }
                """)
        #expect(
            snippet.interface("QAInput")
                == "title?: string | null; year_update?: Int_Update[] | null;"
                + " reviews_on_movie?: QAReviewsOnMovieInput[] | null;")
        #expect(snippet.interface("QAReviewsOnMovieInput") == "userUid?: string | null; stars?: number | null;")
    }

    @Test func operationsStayInFileOrderWithTheirComments() throws {
        let snippet = try Snippet(
            schema: Self.schema,
            operations: """
                # Is no comment of an operation.

                query B { movies { id } }
                # Lists movies,
                #   all of them.
                query A { movies { id } }
                "Described."
                query C { movies { id } }
                """)
        #expect(snippet.connector.operations.map(\.name) == ["B", "A", "C"])
        #expect(
            snippet.connector.operations.map(\.documentation) == [nil, "Lists movies,\nall of them.", "Described."])
    }

    @Test func revisionChangesWithTheOperation() throws {
        let first = try Snippet(schema: Self.schema, operations: "query A { movies { id } }").connector
        let second = try Snippet(schema: Self.schema, operations: "query A { movies { id title } }").connector
        #expect(first.revision != second.revision)
        #expect(first.operations[0].revision != second.operations[0].revision)
    }

    /// The positions of entity ids are those that the server sends (`EntityIDTests`).
    @Test(arguments: [
        ("movies { id title }", ".object([\"movies\": .entity(\"Movie\", key: [\"id\"])])"),
        ("movies { title }", ".none"),
        ("movies(distinct: true) { id }", ".none"),
        ("movies { id _count }", ".none"),
        ("movies { id title: year }", ".none"),
        ("movies { id other: title }", ".object([\"movies\": .entity(\"Movie\", key: [\"id\"])])"),
        (
            "reviews { movie { id } user { uid } }",
            ".object([ \"reviews\": .entity( \"Review\", key: [\"movie.id\", \"user.uid\"],"
                + " [ \"movie\": .entity(\"Movie\", key: [\"id\"]), \"user\": .entity(\"User\", key: [\"uid\"]), ]) ])"
        ),
        ("stats { genre }", ".none"),
    ])
    func swiftCodeSaysWhereEntitiesAre(_ selection: String, _ entities: String) throws {
        let snippet = try Snippet(schema: Self.schema, operations: "query Q { \(selection) }")
        let text = snippet.files(.swift(SwiftOptions(package: "P")))["Sources/Q.swift"] ?? ""
        let words = text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
        #expect(words.contains("entities: EntityShape = \(entities) public"))
    }

    /// Fields of rows that results show by key: no key fields, objects and `Any`, and no name with two types.
    @Test func rowsHaveTheirEditableFields() throws {
        let snippet = try Snippet(
            schema: Self.schema,
            operations: """
                query A { movies { id title year extra genre tags other: title __typename } }
                query B { reviews { movie { id views title } user { uid name best { title } } stars } }
                query C { movies { id other: year } }
                query D { movies { title rating } }
                query E { stats { n } }
                """)
        let text = snippet.files(.swift(SwiftOptions(package: "P")))["Sources/Edits.swift"] ?? ""
        let extensions = text.split(separator: "extension EditedRow where Key == ").dropFirst().map { text in
            text.matches(of: #/public var (\w+: \S+\?) \{\s*get [^\n]*\s*set \{ self\.(\w+)/#)
                .reduce(String(text.prefix { $0 != " " })) { "\($0) \($1.output.1) \($1.output.2)" }
        }
        #expect(
            extensions == [
                "MovieKey title: String? setOrReset year: Int? set genre: Genre? set tags: [String]? set"
                    + " views: Int64? setOrReset",
                "ReviewKey stars: Int? setOrReset", "UserKey name: String? setOrReset",
            ])
        let plain = try Snippet(schema: Self.schema, operations: "query D { movies { title } }")
        #expect(plain.files(.swift(SwiftOptions(package: "P")))["Sources/Edits.swift"] == nil)
    }
}
