import CodeGeneration
import Testing

/// Names, types and optionality of what Firebase's generator exports, so that apps compile unchanged against ours. The
/// facts were read off generated folders of public repositories; the schema is alike theirs.
@Suite struct PublicSurfaceTests {
    private static let schema = """
        type Movie @table {
          title: String! imageUrl: String! releaseYear: Int genre: String rating: Float tags: [String!]
        }
        type MovieMetadata @table { movie: Movie! director: String }
        type Actor @table { imageUrl: String! name: String! }
        type User @table { id: String! username: String! }
        type Review @table(key: ["movie", "user"]) {
          id: UUID! @default(expr: "uuidV4()") user: User! movie: Movie! rating: Int reviewText: String
          reviewDate: Date!
        }
        type MovieActor @table(key: ["movie", "actor"]) { movie: Movie! actor: Actor! role: String! }
        type FavoriteMovie @table(singular: "favorite_movie", plural: "favorite_movies", key: ["user", "movie"]) {
          user: User! movie: Movie!
        }
        type TBDItem @table { status: String! }
        enum TimeEntryStatus { PENDING APPROVED }
        type TimeEntry @table { status: TimeEntryStatus! at: Timestamp! size: Int64 }
        """
    private static let operations = """
        query ListMovies($orderByRating: OrderDirection, $limit: Int) {
          movies(orderBy: [{rating: $orderByRating}], limit: $limit) { id title genre tags }
        }
        query GetMovieById($id: UUID!) {
          movie(id: $id) {
            id
            title
            metadata: movieMetadatas_on_movie { director }
            mainActors: actors_via_MovieActor(where: {role: {eq: "main"}}) { id name imageUrl }
            reviews: reviews_on_movie { id reviewText reviewDate rating user { id username } }
          }
        }
        query GetCurrentUser { user(key: {id_expr: "auth.uid"}) { id favorite_movies_on_user { movie { id title } } } }
        query ListTimeEntries($status: TimeEntryStatus) {
          timeEntries(where: {status: {eq: $status}}) { id status at size }
        }
        mutation createMovie($title: String!, $imageUrl: String!, $genre: String) {
          movie_insert(data: {title: $title, imageUrl: $imageUrl, genre: $genre})
        }
        mutation AddFavoritedMovie($movieId: UUID!) {
          favorite_movie_upsert(data: {userId_expr: "auth.uid", movieId: $movieId})
        }
        mutation DeleteReview($movieId: UUID!) { review_delete(key: {userId_expr: "auth.uid", movieId: $movieId}) }
        mutation UpdateTbdItemStatus($id: UUID!, $status: String!) { tBDItem_update(id: $id, data: {status: $status}) }
        mutation Touch { movie_updateMany(all: true, data: {genre: null}) }
        """

    private static func snippet(_ id: String = "friendly-flix") throws -> Snippet {
        try Snippet(schema: schema, operations: operations, connector: id)
    }

    /// The words of a text with one blank between them, so that line breaks do not matter.
    private static func words(_ text: String?) -> String {
        (text ?? "").split { $0.isWhitespace }.joined(separator: " ")
    }

    @Test(arguments: [
        "export interface ListMoviesData { movies: ({ id: UUIDString; title: string; genre?: string | null;"
            + " tags?: string[] | null; } & Movie_Key)[]; }",
        "export interface ListMoviesVariables { orderByRating?: OrderDirection | null; limit?: number | null; }",
        "mainActors: ({ id: UUIDString; name: string; imageUrl: string; } & Actor_Key)[];",
        "metadata: ({ director?: string | null; })[];",
        "reviews: ({ id: UUIDString; reviewText?: string | null; reviewDate: DateString; rating?: number | null;"
            + " user: { id: string; username: string; } & User_Key; })[]; } & Movie_Key; }",
        "export interface AddFavoritedMovieData { favorite_movie_upsert: FavoriteMovie_Key; }",
        "export interface DeleteReviewData { review_delete?: Review_Key | null; }",
        "export interface UpdateTbdItemStatusData { tBDItem_update?: TBDItem_Key | null; }",
        "export interface FavoriteMovie_Key { userId: string; movieId: UUIDString; __typename?: 'FavoriteMovie_Key'; }",
        "export interface CreateMovieVariables { title: string; imageUrl: string; genre?: string | null; }",
        "export enum OrderDirection { ASC = \"ASC\", DESC = \"DESC\", }",
        "export const createMovieRef: CreateMovieRef;",
        "(vars: CreateMovieVariables): MutationRef<CreateMovieData, CreateMovieVariables>;",
        "(dc: DataConnect, vars: CreateMovieVariables): MutationRef<CreateMovieData, CreateMovieVariables>;",
        "(vars?: ListMoviesVariables): QueryRef<ListMoviesData, ListMoviesVariables>;",
        "(): QueryRef<GetCurrentUserData, undefined>;",
        "export function listMovies(dc: DataConnect, vars?: ListMoviesVariables, options?: ExecuteQueryOptions):"
            + " QueryPromise<ListMoviesData, ListMoviesVariables>;",
        "export function getCurrentUser(options?: ExecuteQueryOptions): QueryPromise<GetCurrentUserData, undefined>;",
        "export function touch(dc: DataConnect): MutationPromise<TouchData, undefined>;",
    ])
    func typeScriptExports(_ declaration: String) throws {
        #expect(Self.words(try Self.snippet().typeScript).contains(declaration))
    }

    @Test func typeScriptDeclaresInterfacesInOrderOfTheirNames() throws {
        let names = try Self.snippet().typeScript.split(separator: "\n").compactMap { line in
            line.hasPrefix("export interface ") ? String(line.dropFirst(17).dropLast(2)) : nil
        }
        #expect(names.first == "Actor_Key")
        #expect(names == names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        // `_` comes after capital letters and before small ones.
        let movie = try #require(names.firstIndex(of: "Movie_Key"))
        #expect(try #require(names.firstIndex(of: "MovieMetadata_Key")) < movie)
    }

    @Test(arguments: [
        "useListMovies(vars?: ListMoviesVariables, options?: useDataConnectQueryOptions<ListMoviesData>):"
            + " UseDataConnectQueryResult<ListMoviesData, ListMoviesVariables>;",
        "useGetCurrentUser(dc: DataConnect, options?: useDataConnectQueryOptions<GetCurrentUserData>):"
            + " UseDataConnectQueryResult<GetCurrentUserData, undefined>;",
        "useCreateMovie(options?: useDataConnectMutationOptions<CreateMovieData, FirebaseError, CreateMovieVariables>):"
            + " UseDataConnectMutationResult<CreateMovieData, CreateMovieVariables>;",
        "useTouch(options?: useDataConnectMutationOptions<TouchData, FirebaseError, void>):"
            + " UseDataConnectMutationResult<TouchData, undefined>;",
    ])
    func reactExports(_ declaration: String) throws {
        var options = JavaScriptOptions(package: "movies")
        options.hasReact = true
        let text = try Self.snippet().files(.typescript(options))["react/index.d.ts"]
        #expect(Self.words(text).contains("export function \(declaration)"))
    }

    @Test(arguments: [
        "export type GetCurrentUserOptions ="
            + " () => Omit<CreateDataConnectQueryOptions<GetCurrentUserData, undefined>, 'queryFn'>;",
        "type GetMovieByIdArgs = GetMovieByIdVariables | (() => GetMovieByIdVariables);",
        "export function injectGetMovieById(args: GetMovieByIdArgs, options?: GetMovieByIdOptions,"
            + " injector?: Injector):"
            + " CreateDataConnectQueryResult<GetMovieByIdData, GetMovieByIdVariables>;",
        "export function injectCreateMovie(options?: CreateMovieOptions, injector?: Injector):"
            + " CreateDataConnectMutationResult<CreateMovieData, CreateMovieVariables, CreateMovieVariables>;",
    ])
    func angularExports(_ declaration: String) throws {
        var options = JavaScriptOptions(package: "movies")
        options.hasAngular = true
        let text = try Self.snippet().files(.typescript(options))["angular/index.d.ts"]
        #expect(Self.words(text).contains(declaration))
    }

    @Test(arguments: [
        "export function listMovies(dc: DataConnect, vars?: ListMoviesVariables, options?: OperationOptions):"
            + " Promise<ExecuteOperationResponse<ListMoviesData>>;",
        "export function getCurrentUser(options?: OperationOptions):"
            + " Promise<ExecuteOperationResponse<GetCurrentUserData>>;",
    ])
    func adminNodeExports(_ declaration: String) throws {
        let text = try Self.snippet().files(.adminNode(JavaScriptOptions(package: "movies")))["index.d.ts"]
        #expect(Self.words(text).contains(declaration))
    }

    private static func swift(_ publisher: SwiftOptions.Publisher = .observableMacro) throws -> [String: String] {
        var options = SwiftOptions(package: "FriendlyFlixSDK")
        options.flavor = .firebase
        options.publisher = publisher
        return try snippet().files(.swift(options))
    }

    @Test(arguments: [
        ("FriendlyFlixClient", "static let friendlyFlixConnector: FriendlyFlixConnector ="),
        ("FriendlyFlixClient", "public class FriendlyFlixConnector {"),
        ("FriendlyFlixClient", "public let createMovieMutation: CreateMovieMutation"),
        ("FriendlyFlixClient", "public let listMoviesQuery: ListMoviesQuery"),
        ("FriendlyFlixClient", "serviceId: \"service\", location: \"us-west2\", connector: \"friendly-flix\""),
        (
            "FriendlyFlixKeys",
            "public struct ReviewKey: Codable, Hashable, Sendable { public private(set) var movieId: UUID"
        ),
        ("FriendlyFlixOperations", "public class CreateMovieMutation {"),
        ("FriendlyFlixOperations", "public static let OperationName = \"createMovie\""),
        (
            "FriendlyFlixOperations",
            "public typealias Ref = MutationRef<CreateMovieMutation.Data, CreateMovieMutation.Variables>"
        ),
        (
            "FriendlyFlixOperations",
            "public typealias Ref = QueryRefObservation<ListMoviesQuery.Data, ListMoviesQuery.Variables>"
        ),
        ("FriendlyFlixOperations", "@OptionalVariable public var genre: String?"),
        ("FriendlyFlixOperations", "public var movie_insert: MovieKey"),
        ("FriendlyFlixOperations", "public var review_delete: ReviewKey?"),
        ("FriendlyFlixOperations", "public var mainActors: [ActorMainActors]"),
        ("FriendlyFlixOperations", "public var metadata: [MovieMetadataMetadata]"),
        ("FriendlyFlixOperations", "public var actorMainActorsKey: ActorKey {"),
        ("FriendlyFlixOperations", "public var reviews: [ReviewReviews]"),
        ("FriendlyFlixOperations", "public var favorite_movies_on_user: [FavoriteMovie]"),
        ("FriendlyFlixOperations", "public var user: User"),
        ("FriendlyFlixOperations", "public var reviewDate: LocalDate"),
        ("FriendlyFlixOperations", "public var size: Int64?"),
        ("FriendlyFlixOperations", "case _UNKNOWN(String)"),
    ])
    func swiftExports(_ file: String, _ declaration: String) throws {
        #expect(Self.words(try Self.swift()["Sources/\(file).swift"]).contains(declaration))
    }

    @Test func swiftPublishesByTheConfiguredKind() throws {
        let text = try Self.swift(.observableObject)["Sources/FriendlyFlixOperations.swift"] ?? ""
        #expect(text.contains("publisher: .observableObject"))
        #expect(text.contains("QueryRefObservableObject<ListMoviesQuery.Data, ListMoviesQuery.Variables>"))
        #expect(!text.contains("QueryRefObservation"))
    }

    /// The same over `FreshetFirebase`: without `@Observable`, queries are there on iOS 16.
    @Test(arguments: SwiftOptions.Publisher.allCases)
    func theNamesOfFirebasesSDKPublishByTheConfiguredKind(_ publisher: SwiftOptions.Publisher) throws {
        var options = SwiftOptions(package: "FriendlyFlix")
        options.hasFirebaseNames = true
        options.publisher = publisher
        let files = try Self.snippet().files(.swift(options))
        let text = try #require(files["Sources/FriendlyFlixConnector+Firebase.swift"])
        let isMacro = publisher == .observableMacro
        let ref = isMacro ? "QueryRefObservation" : "QueryRefObservableObject"
        #expect(text.contains("public typealias Ref = \(ref)<ListMovies>"))
        #expect(text.contains("@available(macOS 14, iOS 17") == isMacro)
    }

    @Test func swiftResultsAreEqualByAllFields() throws {
        let text = try Self.swift()["Sources/FriendlyFlixOperations.swift"] ?? ""
        #expect(Self.words(text).contains("public struct Movie: Decodable, Hashable, Sendable, Identifiable {"))
        #expect(!text.contains("lhs: Movie"))
    }

    @Test(arguments: [
        ("FriendlyFlixConnector", "public val createMovie: CreateMovieMutation"),
        ("FriendlyFlixConnector", "public val FriendlyFlixConnector.Companion.instance: FriendlyFlixConnector"),
        (
            "FriendlyFlixConnector",
            "public interface FriendlyFlixConnector :"
                + " com.google.firebase.dataconnect.generated.GeneratedConnector<FriendlyFlixConnector> {"
        ),
        ("CreateMovieMutation", "val genre: com.google.firebase.dataconnect.OptionalVariable<String?>,"),
        ("CreateMovieMutation", "public interface Builder { public var title: String"),
        (
            "CreateMovieMutation",
            "title: String, imageUrl: String, block_: CreateMovieMutation.Variables.Builder.() -> Unit = {} )"
        ),
        ("CreateMovieMutation", "val movie_insert: MovieKey,"),
        ("GetMovieByIdQuery", "val mainActors: List<MainActorsItem>,"),
        ("GetMovieByIdQuery", "public fun GetMovieByIdQuery.flow( id: java.util.UUID )"),
        ("GetMovieByIdQuery", "val reviewDate: com.google.firebase.dataconnect.LocalDate,"),
        ("GetCurrentUserQuery", "val favorite_movies_on_user: List<FavoriteMoviesOnUserItem>,"),
        ("GetCurrentUserQuery", "SerializationStrategy<Unit>"),
        (
            "ListTimeEntriesQuery",
            "val status: @kotlinx.serialization.Serializable(with = TimeEntryStatus.EnumValueSerializer::class)"
                + " EnumValue<TimeEntryStatus>,"
        ),
        (
            "ListTimeEntriesQuery",
            "val at: @kotlinx.serialization.Serializable(with ="
                + " com.google.firebase.dataconnect.serializers.TimestampSerializer::class)"
                + " com.google.firebase.Timestamp,"
        ),
        ("ListTimeEntriesQuery", "val size: Long?,"),
        (
            "Keys",
            "public data class MovieKey( val id: @kotlinx.serialization.Serializable(with ="
                + " com.google.firebase.dataconnect.serializers.UUIDSerializer::class) java.util.UUID, )"
        ),
        ("Enums", "public enum class TimeEntryStatus { PENDING, APPROVED;"),
    ])
    func kotlinExports(_ file: String, _ declaration: String) throws {
        let files = try Self.snippet().files(.kotlin(package: "com.example", nil))
        let text = Self.words(files["com/example/\(file).kt"])
        // A single parameter may stand on the line of its function.
        #expect(
            text.replacing("( ", with: "(").replacing(" )", with: ")")
                .contains(declaration.replacing("( ", with: "(").replacing(" )", with: ")")))
    }

    @Test(arguments: [
        ("generated", "class FriendlyFlixConnector {"),
        ("generated", "CreateMovieVariablesBuilder createMovie({"),
        (
            "generated",
            "static ConnectorConfig connectorConfig = ConnectorConfig( 'us-west2', 'friendly-flix', 'service', );"
        ),
        ("generated", "part 'update_tbd_item_status.dart';"),
        ("generated", "EnumValue<TimeEntryStatus> timeEntryStatusDeserializer(dynamic data) {"),
        ("create_movie", "class CreateMovieMovieInsert { final String id;"),
        ("create_movie", "CreateMovieVariablesBuilder genre(String? t) {"),
        ("get_movie_by_id", "class GetMovieByIdMovieReviewsUser {"),
        ("get_movie_by_id", "final List<GetMovieByIdMovieMainActors> mainActors;"),
        ("get_current_user", "class GetCurrentUserUserFavoriteMoviesOnUserMovie {"),
        ("list_time_entries", "final EnumValue<TimeEntryStatus> status;"),
        ("list_time_entries", "final Timestamp at;"),
    ])
    func dartExports(_ file: String, _ declaration: String) throws {
        let text = try Self.snippet().files(.dart(package: "movies/generated.dart", nil))["\(file).dart"]
        #expect(Self.words(text).contains(declaration))
    }
}
