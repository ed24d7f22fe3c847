import GraphQLLanguage

/// The part of the generated GraphQL schema that is the same for every project: directives, scalars and common inputs.
/// Source: docs/reference/sql-connect.md §5.1 to §5.6.
enum Prelude {
    /// Empty only if the text below were invalid GraphQL, which `GraphQLSchemaTests` would detect.
    static let definitions: [Definition] =
        (try? Parser.parseDocument(Source(name: "prelude", text: text)))?.definitions ?? []

    static let text = #"""
        "Determines who may run the operation: exactly one of level and expr. Without it, clients may not run it."
        directive @auth(level: AccessLevel, expr: Boolean_Expr, insecureReason: String) on QUERY | MUTATION

        "Refreshes live queries, in addition to writes of the rows that they look up by key."
        directive @refresh(every: Timestamp_Duration, onMutationExecuted: [OnMutationExecuted_Event!])
          repeatable on QUERY

        "Runs all fields in one transaction."
        directive @transaction on MUTATION

        "Fails the operation with the message unless the expression is true; this is the checked value."
        directive @check(
          expr: Boolean_Expr! = "!(this in [null, []])"
          message: String! = "permission denied"
          optional: Boolean = false
        ) repeatable on QUERY | MUTATION | FIELD | FRAGMENT_DEFINITION | FRAGMENT_SPREAD | INLINE_FRAGMENT

        "Hides the field from clients; expressions can still read it in response."
        directive @redact on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT

        "Limits a variable of a _Data type to these fields, separated by spaces, and to a number of rows."
        directive @allow(fields: String!, maxCount: Int! = 100) on VARIABLE_DEFINITION

        directive @retired(reason: String) on QUERY | MUTATION | FIELD | VARIABLE_DEFINITION

        directive @table(name: String, singular: String, plural: String, key: [String!]) on OBJECT

        directive @view(name: String, sql: String, singular: String, plural: String) on OBJECT

        directive @searchable(language: String = "english") on FIELD_DEFINITION

        directive @col(name: String, dataType: String, size: Int) on FIELD_DEFINITION

        directive @default(value: Any, expr: Any_Expr, sql: Any_SQL) on FIELD_DEFINITION

        directive @ref(fields: [String!], references: [String!], constraintName: String) on FIELD_DEFINITION

        directive @unique(indexName: String, fields: [String!]) repeatable on FIELD_DEFINITION | OBJECT

        directive @index(
          name: String, fields: [String!], order: [IndexFieldOrder!], type: IndexType
          vector_method: VectorSimilarityMethod
        ) repeatable on FIELD_DEFINITION | OBJECT

        "32 lower-case hexadecimal digits; other common spellings are accepted."
        scalar UUID

        "A 64-bit integer as a string; a number is accepted."
        scalar Int64

        "A date, YYYY-MM-DD."
        scalar Date

        "An RFC 3339 timestamp in the years 1583 to 9999."
        scalar Timestamp

        "Any JSON value."
        scalar Any

        "A list of numbers."
        scalar Vector

        "The name of an embedding model, as a literal."
        scalar Vector_Embed_Model

        "A CEL expression that yields a boolean."
        scalar Boolean_Expr

        scalar String_Expr

        scalar Int_Expr

        scalar Int64_Expr

        scalar Float_Expr

        scalar UUID_Expr

        scalar Date_Expr

        scalar Timestamp_Expr

        scalar Any_Expr

        scalar Vector_Expr

        scalar Any_SQL

        "SQL that begins with SELECT, TABLE or WITH; $1 and following refer to params."
        scalar SQL_Query

        "SQL that reads or writes; $1 and following refer to params."
        scalar SQL_Mutation

        "A list of variables, constants and {_expr: …}."
        scalar SQL_Params

        enum AccessLevel { PUBLIC USER_ANON USER USER_EMAIL_VERIFIED NO_ACCESS }

        enum OrderDirection { ASC DESC }

        enum IndexFieldOrder { ASC DESC }

        enum IndexType { BTREE GIN HNSW IVFFLAT }

        enum VectorSimilarityMethod { L2 COSINE INNER_PRODUCT }

        enum Search_QueryFormat { QUERY PLAIN PHRASE ADVANCED }

        enum Timestamp_Interval { SECOND MINUTE HOUR DAY WEEK MONTH YEAR }

        enum Date_Interval { WEEK MONTH YEAR }

        "Applies if a mutation of the same connector committed and the condition holds."
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

        "The embedding of a text."
        input Vector_Embed {
          model: Vector_Embed_Model!
          "The text to embed."
          text: String!
        }

        type _Metadata {
          "Distance to the compared vector, in a list of …_similarity."
          distance: Float
          "Relevance for the searched words, in a list of …_search."
          relevance: Float
        }
        """#
}
