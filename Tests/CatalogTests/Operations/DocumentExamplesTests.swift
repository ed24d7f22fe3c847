import Catalog
import LiveModel
import Testing

/// The examples of the documents, word for word where the documents are well-formed.
@Suite struct DocumentExamplesTests {
    private let schema = """
        type Movie @table(key: "id") { id: UUID! @default(expr: "uuidV4()") title: String! releaseYear: Int genre: String description: String averageRating: Int }
        type Profile @table(key: "id") { id: String! status: String photoUrl: String socialLink: String }
        """

    @Test func realtimeQueriesAndTheirMutations() throws {
        let catalog = try CatalogHarness.compile(
            """
            query GetMovieById($id: UUID!) @auth(level: PUBLIC) { movie(id: $id) { id title releaseYear genre description } }
            mutation UpdateMovie($id: UUID!, $genre: String!, $description: String!) { movie_update(id: $id, data: { genre: $genre description: $description }) }
            query GetExtendedProfileByUser @auth(level: USER) { profile(key: { id_expr: "auth.uid" }) { id status photoUrl socialLink } }
            mutation UpsertExtendedProfile($status: String, $photoUrl: String, $socialLink: String) @auth(level: USER) {
              profile_upsert(data: { id_expr: "auth.uid" status: $status photoUrl: $photoUrl socialLink: $socialLink }) { id status photoUrl socialLink }
            }
            query GetMovieRating($id: UUID!) @auth(level: PUBLIC) @refresh(every: { seconds: 30 }) { movie(id: $id) { id averageRating } }
            query ListMovies($offset: Int) @auth(level: PUBLIC, insecureReason: "Anyone can list all movies.")
              @refresh(every: { seconds: 30 }) @refresh(onMutationExecuted: { operation: "UpdateMovie" }) {
              movies(limit: 10, offset: $offset) { id title releaseYear genre description }
            }
            query ListMoviesByGenre($genre: String, $offset: Int) @auth(level: PUBLIC, insecureReason: "Anyone can list movies.")
              @refresh(onMutationExecuted: { operation: "UpdateMovie", condition: "request.variables.genre == mutation.variables.genre" }) {
              movies(where: { genre: { eq: $genre } }, limit: 10, offset: $offset) { id title releaseYear genre description }
            }
            mutation createMovie($title: String!, $releaseYear: Int!, $genre: String!, $rating: Int!) {
              movie_insert(data: { title: $title releaseYear: $releaseYear genre: $genre averageRating: $rating })
            }
            query getMovieByKey($key: Movie_Key!) { movie(key: $key) { id title } }
            """, schema: schema)
        #expect(catalog.warnings.isEmpty)
        #expect(catalog.connectors["main"]?.operations.count == 9)
        #expect(
            catalog.queriesRefreshed(by: OperationReference(connector: "main", operation: "UpdateMovie")).map(
                \.operation)
                == ["GetMovieById", "GetMovieRating", "ListMovies", "ListMoviesByGenre", "getMovieByKey"])
        #expect(
            catalog.queriesRefreshed(by: OperationReference(connector: "main", operation: "UpsertExtendedProfile"))
                .map(\.operation) == ["GetExtendedProfileByUser"])
    }
}
