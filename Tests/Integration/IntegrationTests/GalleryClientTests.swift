import Foundation
import FreshetClient
import FreshetFirebase
import GalleryClient
import LocalServers
import ProtocolClients
import TestSupport
import Testing

/// Generated code for every construct of the language, compiled against the SDK, against a node. (`Weather` needs a
/// server of its own; `ResolverTests` has such.)
@Suite(.serialized, .timeLimit(.minutes(3)))
struct GalleryClientTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    @Test func everyOperationRunsAndItsResultIsRead() async throws {
        try await Servers.with(programFolder: try await PythonClients.postgresWithVectors()) { servers in
            let project = Repository.path("Tests/Contract/CodeGenerationTests/Projects/gallery")
            let environment = [
                "FRESHET_POSTGRES_URL": servers.postgres.connectionString, "FRESHET_REDIS_URL": servers.redis.url,
            ]
            let migration = try FreshetProcess(["migrate", project], environment: environment)
            try #require(await migration.waitForExit() == 0, "\(migration.output)")
            let settings = [
                "http.port=0", "admin.port=0", "cluster.awaitFormerOwners=false", "auth.mode=hs256",
                "auth.hs256Secret=\(Self.secret)",
            ]
            let node = try FreshetProcess(
                ["serve", project] + settings.flatMap { ["--set", $0] }, environment: environment)
            let ready = try await node.line(containing: "ready http").split(separator: " ")
            do {
                let token = TestTokens.signed(uid: "ann", secret: Self.secret)
                let gallery = ArtGalleryConnector(
                    at: "\(try ServerAddress(String(ready[1])))", cache: .memory(), auth: .token(token))
                try await runAll(gallery)
                try await runWithFirebaseNames(ArtGalleryDataConnect(link: gallery.link))
                try await runForFirebasesSDK(try ServerAddress(String(ready[1])).port)
            } catch {
                await node.crash()
                throw error
            }
            await node.crash()
        }
    }

    private func runAll(_ gallery: ArtGalleryConnector) async throws {
        let born = try #require(LocalDate(year: 1606, month: 7, day: 15))
        let site = try AnyValue(jsonText: #"{"url":"https://example.com","open":[1,2.5,null]}"#)
        let artist = try await gallery.createArtist(
            name: "Rembrandt", born: .value(born), site: .value(site), rank: 9_007_199_254_740_993
        ).run().data.artist_insert
        _ = try await gallery.createArtist(name: "Anon", born: .null, rank: 2).run()
        let painting = try await gallery.addPainting(
            title: "Night", artistId: artist.id, medium: .OIL, price: .value(2.5)
        ).run().data.painting_insert
        let rows = try [
            AnyValue(
                jsonText: """
                    {"title": "Day", "artistId": "\(artist.id)", "medium": "PRINT", "isSold": true, "views": "1"}
                    """)
        ]
        #expect(try await gallery.addPaintings(rows: rows).run().data.painting_insertMany.count == 1)
        // Its visitor is a new id, which no artist has.
        let refused = await #expect(throws: FreshetError.self) {
            try await gallery.upsertVisit(painting: painting.id, stars: 4).run()
        }
        #expect(refused?.serverCode == "CONSTRAINT_VIOLATION")
        _ = try await gallery.touch().run()
        let change = try AnyValue(jsonText: #"{"title": "Night Watch", "price": 3.5}"#)
        let changed = try await gallery.changePainting(id: painting.id, data: change).run().data
        #expect(changed.painting_update?.id == painting.id)

        let list = try await gallery.listPaintings(order: .value(.ASC)).get().data.paintings
        #expect(list.map(\.title) == ["Day", "Night Watch"] && list[1].medium == .OIL && list[1].key == painting)
        #expect(try await gallery.listPaintings(medium: .value(.PRINT), limit: 1).get().data.paintings.count == 1)
        let one = try #require(try await gallery.getPainting(id: painting.id).get().data.painting)
        #expect(one.artist.rank == 9_007_199_254_740_993 && one.artist.born == born && one.artist.site == site)
        #expect(one.owner == nil && one.opinions.isEmpty && one.views == 1)
        let byKey = try await gallery.paintingByKey(key: painting).get().data
        #expect(byKey.chosen?.title == "Night Watch")
        let statistics = try await gallery.statistics().get().data
        #expect(statistics.paintings.count == 2 && statistics.total.first?._count == 2)
        #expect(
            try await gallery.searchArtists(words: "Rembrandt").get().data.artists_search.first?.name == "Rembrandt")
        let similar = try await gallery.similarPaintings(to: [1, 0, 0]).get().data.paintings_embedding_similarity
        #expect(similar.isEmpty, "no row has a vector")
        let full = try await gallery.conditional(full: true, hide: false).get().data.artists
        #expect(
            full.contains { $0.born == born && $0.rank != nil }
                && full.allSatisfy { $0.site != nil || $0.name == "Anon" })
        let short = try await gallery.conditional(full: false, hide: true).get().data.artists
        #expect(short.allSatisfy { $0.born == nil && $0.rank == nil })
        let filter = try AnyValue(jsonText: #"{"title": {"startsWith": "Night"}}"#)
        #expect(try await gallery.filtered(where: .value(filter)).get().data.paintings.map(\.title) == ["Night Watch"])
        let visits = try await gallery.visits().get().data
        #expect(visits.visits.isEmpty && visits.countries.isEmpty)
        #expect(try await gallery.rawRows().get().data.first?["one"]?.intValue == 1)
        #expect(try await gallery.removePainting(id: painting.id).run().data.removedVisits == 0)
        let gone = try await gallery.getPainting(id: painting.id).get(.serverOnly).data.painting
        #expect(gone == nil)
    }

    @MainActor
    private func runWithFirebaseNames(_ gallery: ArtGalleryDataConnect) async throws {
        let artist = try await gallery.createArtistMutation.execute(name: "Vermeer", rank: 3).data.artist_insert
        let ref: ListPaintingsQuery.Ref = gallery.listPaintingsQuery.ref(order: .value(.DESC))
        let result = try await ref.execute(fetchPolicy: .serverOnly)
        #expect(result.data?.paintings.map(\.title) == ["Day"] && ref.data == result.data && ref.lastError == nil)
        let key = try await gallery.addPaintingMutation.ref(title: "Pearl", artistId: artist.id, medium: .OIL).execute()
        let read = try await gallery.getPaintingQuery.execute(id: key.data.painting_insert.id, fetchPolicy: .serverOnly)
        #expect(read.data?.painting?.artist.name == "Vermeer")
    }

    /// `flavor: firebase` in an app of its own, over a module with the surface of Firebase's SDK and our REST protocol.
    private func runForFirebasesSDK(_ port: Int) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let tests = Repository.path("Tests/Contract/CodeGenerationTests")
        try FileManager.default.copyItem(atPath: "\(tests)/Projects/gallery", toPath: "\(folder.path)/gallery")
        let generation = try FreshetProcess(["generate", "swift", "\(folder.path)/gallery"])
        try #require(await generation.waitForExit() == 0, "\(generation.output)")
        let stubs = "\(tests)/Stubs"
        let sources = "\(folder.path)/gallery/out/swift-firebase/Sources"
        let build = try FreshetProcess(
            ["\(stubs)/FirebaseApp/build.sh", stubs, sources, folder.path], executable: "/bin/sh")
        try #require(await build.waitForExit() == 0, "\(build.output)")
        let app = try FreshetProcess(["\(port)"], executable: "\(folder.path)/app")
        let status = await app.waitForExit()
        if status == FreshetProcess.notWaitedFor { await app.crash() }
        #expect(status == 0)
        #expect(
            app.output.trimmingCharacters(in: .newlines) == """
                query: App Ann 9007199254740993
                key: true
                optional: true
                absent: true
                subscription: App Ann 9007199254740993
                subscription: App Ann 9007199254740993, App Ben 2
                refused: true
                """)
    }
}
