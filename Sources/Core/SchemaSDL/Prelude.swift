import GraphQLLanguage

/// The part of the generated GraphQL schema that is the same for every project: directives, scalars, and the inputs that
/// no table brings. Source: docs/reference/sql-connect.md §5.1 to §5.6.
enum Prelude {
    /// Empty only if the text below were no GraphQL, which `GraphQLSchemaTests` would see.
    static let definitions: [Definition] =
        (try? Parser.parseDocument(Source(name: "prelude", text: text)))?.definitions ?? []

    static let text = #"""
        "Who may run the operation: exactly one of level and expr. Without it nobody may."
        directive @auth(level: AccessLevel, expr: Boolean_Expr, insecureReason: String) on QUERY | MUTATION

        "What runs a followed query again, beside writes of the rows that it looks up by key."
        directive @refresh(every: Timestamp_Duration, onMutationExecuted: [OnMutationExecuted_Event!]) repeatable on QUERY

        "All fields in one transaction, all or nothing."
        directive @transaction on MUTATION

        "The operation fails with the message unless the expression holds; the value checked is this."
        directive @check(expr: Boolean_Expr! = "!(this in [null, []])", message: String! = "permission denied", optional: Boolean = false) repeatable on QUERY | MUTATION | FIELD | FRAGMENT_DEFINITION | FRAGMENT_SPREAD | INLINE_FRAGMENT

        "Not shown to clients; expressions still read it as response."
        directive @redact on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT

        "The fields that a variable of a _Data type may bring, separated by blanks, and how many rows."
        directive @allow(fields: String!, maxCount: Int! = 100) on VARIABLE_DEFINITION

        directive @retired(reason: String) on QUERY | MUTATION | FIELD | VARIABLE_DEFINITION

        directive @table(name: String, singular: String, plural: String, key: [String!]) on OBJECT

        directive @view(name: String, sql: String, singular: String, plural: String) on OBJECT

        directive @searchable(language: String = "english") on FIELD_DEFINITION

        directive @col(name: String, dataType: String, size: Int) on FIELD_DEFINITION

        directive @default(value: Any, expr: Any_Expr, sql: Any_SQL) on FIELD_DEFINITION

        directive @ref(fields: [String!], references: [String!], constraintName: String) on FIELD_DEFINITION

        directive @unique(indexName: String, fields: [String!]) repeatable on FIELD_DEFINITION | OBJECT

        directive @index(name: String, fields: [String!], order: [IndexFieldOrder!], type: IndexType, vector_method: VectorSimilarityMethod) repeatable on FIELD_DEFINITION | OBJECT

        "32 lower-case hexadecimal digits; every usual spelling is understood."
        scalar UUID

        "A whole number of 64 bits, as text; a number is understood."
        scalar Int64

        "A day, YYYY-MM-DD."
        scalar Date

        "RFC 3339, of the years 1583 to 9999."
        scalar Timestamp

        "Any JSON value."
        scalar Any

        "A list of numbers."
        scalar Vector

        "The name of a model that makes vectors of texts, written out."
        scalar Vector_Embed_Model

        "A CEL expression that gives a truth value."
        scalar Boolean_Expr

        scalar String_Expr

        scalar Int_Expr

        scalar Int64_Expr

        scalar Float_Expr

        scalar UUID_Expr

        scalar Date_Expr

        scalar Timestamp_Expr

        scalar Any_Expr

        scalar Any_SQL

        "SQL that begins with SELECT, TABLE or WITH; $1 and following stand for params."
        scalar SQL_Query

        "SQL that reads or writes; $1 and following stand for params."
        scalar SQL_Mutation

        "A list of variables, constants and {_expr: …}."
        scalar SQL_Params

        enum AccessLevel { PUBLIC USER_ANON USER USER_EMAIL_VERIFIED NO_ACCESS }

        enum OrderDirection { ASC DESC }

        enum IndexFieldOrder { ASC DESC }

        enum IndexType { BTREE GIN HNSW IVFFLAT }

        enum VectorSimilarityMethod { L2 COSINE INNER_PRODUCT }

        enum SearchQueryFormat { QUERY PLAIN PHRASE ADVANCED }

        enum Timestamp_Interval { SECOND MINUTE HOUR DAY WEEK MONTH YEAR }

        enum Date_Interval { WEEK MONTH YEAR }

        "A mutation of the same connector committed, and the condition held."
        input OnMutationExecuted_Event {
          operation: String!
          condition: Boolean_Expr
        }

        input Timestamp_Duration {
          milliseconds: Int = 0
          seconds: Int = 0
          minutes: Int = 0
          hours: Int = 0
          days: Int = 0
          weeks: Int = 0
          months: Int = 0
          years: Int = 0
        }

        input Date_Duration {
          days: Int = 0
          weeks: Int = 0
          months: Int = 0
          years: Int = 0
        }

        "Exactly one of now and at."
        input Timestamp_Relative {
          now: Boolean
          at: Timestamp
          add: Timestamp_Duration
          sub: Timestamp_Duration
          truncateTo: Timestamp_Interval
        }

        "Exactly one of today and on."
        input Date_Relative {
          today: Boolean
          on: Date
          add: Date_Duration
          sub: Date_Duration
          truncateTo: Date_Interval
        }

        "Exactly one of like and regex."
        input String_Pattern {
          like: String
          regex: String
          ignoreCase: Boolean = false
          invert: Boolean = false
        }

        "The vector that a model makes of a text."
        input Vector_Embed {
          model: Vector_Embed_Model!
          "Of which the vector is made."
          text: String!
        }

        type _Metadata {
          "From the vector compared with, in a list of …_similarity."
          distance: Float
          "To the words searched, in a list of …_search."
          relevance: Float
        }
        """#
}
