package import Catalog
import SchemaModel

/// The schema of the tests that compile operations: a library of novels with their makers, readers and remarks, and a
/// few tables for further kinds of keys and types.
package enum LibrarySchema {
    /// The schema of the tests that only compile: every scalar, a composite key, references, one-to-one and
    /// many-to-many. As few fields as that takes, since tests name the SQL of whole rows.
    package static let compiled = """
        enum Genre { NOIR FARCE EPIC }
        type Novel @table {
          id: UUID! @default(expr: "uuidV4()")
          title: String!
          printedYear: Int
          genre: Genre
          rating: Float
          views: Int64 @default(value: 0)
          tags: [String!]
          extras: Any
          launched: Date
          createdAt: Timestamp! @default(expr: "request.time")
        }
        type NovelPrinting @table { id: UUID! @default(expr: "uuidV4()") novel: Novel! @unique binder: String }
        type Maker @table { id: UUID! @default(expr: "uuidV4()") name: String! }
        type NovelMaker @table(key: ["novel", "maker"]) { novel: Novel! maker: Maker! role: String }
        type User @table { id: String! name: String email: String }
        type Remark @table {
          id: UUID! @default(expr: "uuidV4()")
          novel: Novel!
          author: User
          text: String
          stars: Int
        }
        type Seat @table(key: ["hallId", "number"]) { hallId: String! number: Int! taken: Boolean }
        type Token @table { id: Int64! @default(sql: "nextval('token_id')") label: String }
        """

    /// The schema of the tests that run on a real Postgres: the same library with more fields, views, search and
    /// further kinds of keys. `rows` are in it.
    package static let migrated = """
        enum Genre { NOIR FARCE EPIC }
        type Novel @table {
          title: String! @searchable
          description: String @searchable
          printedYear: Int
          genre: Genre
          rating: Float
          views: Int64 @default(value: 0)
          tags: [String!]
          extras: Any
          launched: Date
          createdAt: Timestamp! @default(expr: "request.time")
          isClassic: Boolean
          narrator: Person
          externalId: UUID
          awardDates: [Date!]
        }
        type NovelPrinting @table { novel: Novel! @unique binder: String copies: Int64 }
        type Person @table { name: String! @col(size: 40) mentor: Person }
        type NovelMaker @table(key: ["novel", "maker"]) { novel: Novel! maker: Person! role: String! }
        type User @table { id: String! name: String role: String }
        type Remark @table {
          novel: Novel!
          author: User
          text: String
          stars: Int!
          at: Timestamp! @default(expr: "request.time")
        }
        type Ticket @table(key: "number") { number: Int! @col(dataType: "serial") label: String day: Date }
        type Slot @table(key: ["day", "at", "price", "number"]) {
          day: Date!
          at: Timestamp!
          price: Float!
          number: Int64!
          note: String
        }
        type Part @table(key: ["ticket", "letter"]) { ticket: Ticket! letter: String! note: String }
        type NovelStats @view(sql: \"\"\"
          SELECT novel_id, count(*) AS remark_count, avg(stars)::double precision AS average_stars
          FROM remark GROUP BY novel_id
        \"\"\") {
          novel: Novel @unique
          remarkCount: Int64
          averageStars: Float
        }
        type LongTitle @view(name: "long_title") { title: String letters: Int }
        """

    /// Compiles connectors, each of one file, by id.
    /// - Throws: `CatalogError`.
    package static func compile(_ connectors: [String: String], schema: String) throws -> Catalog {
        try Catalog.compile(
            Project(
                serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
                connectors: connectors.sorted { $0.key < $1.key }.map {
                    ConnectorSource(id: $0.key, files: [SourceFile(path: "\($0.key).gql", text: $0.value)])
                }))
    }

    /// `m1` … `m4`, `p1` … `p3`, `r1` … `r5` in the texts below and in expected results: UUIDs that end in the number.
    package static func expand(_ text: String) -> String {
        var expanded = text
        for (letter, digit) in [("m", "a"), ("p", "b"), ("r", "c"), ("d", "d")] {
            for number in 1...5 {
                expanded = expanded.split(separator: "<\(letter)\(number)>", omittingEmptySubsequences: false)
                    .joined(separator: "\(digit)000000000004000800000000000000\(number)")
            }
        }
        return expanded
    }

    /// Rows of `migrated`, as SQL.
    package static let rows = expand(
        """
        INSERT INTO person (id, name, mentor_id) VALUES
          ('<p1>', 'Ada', NULL), ('<p2>', 'Ben', '<p1>'), ('<p3>', 'Cleo', '<p2>');
        INSERT INTO novel (id, title, description, printed_year, genre, rating, views, tags, extras, launched,
            created_at, is_classic, narrator_id, external_id, award_dates) VALUES
          ('<m1>', 'Alpha', 'A detective walks the rainy city', 1950, 'NOIR', 8.5, 9007199254740993, '{dark,rain}',
            '{"a": 1}', '1950-03-01', '2024-02-28T12:00:00Z', TRUE, '<p1>', '<d1>', '{2024-02-29,1951-01-01}'),
          ('<m2>', 'Beta', 'Rain and laughter', 1960, 'FARCE', 7, 20, '{fun}', NULL, '1960-07-15',
            '2024-02-01T00:00:00.5Z', FALSE, '<p2>', NULL, '{}'),
          ('<m3>', 'Gamma', NULL, 1970, 'NOIR', NULL, 30, NULL, '[1, "x"]', NULL, '2023-12-31T23:59:59.123456Z',
            NULL, NULL, NULL, NULL),
          ('<m4>', 'Delta 50%_', 'The detective returns', 1970, NULL, 6.25, 40, '{dark,fun}', '"text"', '2024-02-29',
            '2020-01-01T00:00:00Z', TRUE, '<p1>', '<d2>', '{2000-01-01}');
        INSERT INTO novel_printing (id, novel_id, binder, copies) VALUES
          ('<d1>', '<m1>', 'Zenith', 500), ('<d2>', '<m2>', 'Apex', NULL);
        INSERT INTO novel_maker (novel_id, maker_id, role) VALUES
          ('<m1>', '<p1>', 'lead'), ('<m1>', '<p2>', 'extra'), ('<m2>', '<p2>', 'lead');
        INSERT INTO "user" (id, name, role) VALUES ('ann', 'Ann', 'admin'), ('bob', 'Bob', NULL);
        INSERT INTO remark (id, novel_id, author_id, text, stars, at) VALUES
          ('<r1>', '<m1>', 'ann', 'great', 5, '2024-02-28T00:00:00Z'),
          ('<r2>', '<m1>', 'bob', 'fine', 3, '2024-02-27T00:00:00Z'),
          ('<r3>', '<m2>', 'ann', NULL, 3, '2024-01-15T00:00:00Z'),
          ('<r4>', '<m4>', NULL, 'meh', 1, '2023-02-28T00:00:00Z');
        INSERT INTO ticket (label, day) VALUES ('one', '2024-01-31');
        INSERT INTO slot (day, at, price, number) VALUES ('2024-01-31', '2024-02-28T12:00:00Z', 1.5, 9007199254740993);
        CREATE VIEW public.long_title AS SELECT title, length(title) AS letters FROM novel WHERE length(title) > 4;
        """)
}
