import Testing

extension Language {
    /// Which rows a mutation touches.
    @Suite struct Targets {
        static let rows = [
            MutationRow(
                "update by key variable",
                #"mutation M($k: MovieActor_Key!) { movieActor_update(key: $k, data: {role: "star"}) { role } }"#,
                #"{"k": {"movieId": "<m1>", "actorId": "<p1>"}}"#, data: #"{"movieActor_update":{"role":"star"}}"#,
                afterwards: ("SELECT string_agg(role, ' ' ORDER BY role) FROM movie_actor", "extra lead star"),
                keys: ["movie_actor[\"<m1>\",\"<p1>\"]"]),
            MutationRow(
                "updateMany all", #"mutation M { review_updateMany(all: true, data: {stars_update: {inc: 1}}) }"#,
                data: #"{"review_updateMany":4}"#,
                afterwards: ("SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM review", "2 4 4 6"), keys: []),
            MutationRow(
                "delete first",
                #"mutation M($s: Int) { review_delete(first: {where: {stars: {le: $s}}, orderBy: [{stars: DESC}, {at: ASC}]}) { stars text } none: review_delete(first: {where: {stars: {gt: 9}}}) }"#,
                #"{"s": 3}"#, data: #"{"review_delete":{"stars":3,"text":null},"none":null}"#,
                afterwards: ("SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM review", "1 3 5"), keys: []),
            MutationRow(
                "deleteMany where",
                #"mutation M($a: String) { review_deleteMany(where: {author: {name: {eq: $a}}, movie: {genre: {eq: NOIR}}}) }"#,
                #"{"a": "Ann"}"#, data: #"{"review_deleteMany":1}"#,
                afterwards: ("SELECT string_agg(id::text, ' ' ORDER BY id) FROM review WHERE id = '<r1>'", nil),
                keys: []),
        ]

        @Test(arguments: rows) func row(_ row: MutationRow) async throws { try await row.check() }
    }
}
