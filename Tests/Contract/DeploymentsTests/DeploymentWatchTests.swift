import Catalog
import DeploymentPlan
import Deployments
import Execution
import LiveModel
import LocalServers
import Logging
import Operations
import Postgres
import SchemaModel
import Synchronization
import TestSupport
import Testing

/// Versions of a project in a real Postgres, and what a node serves of them.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct DeploymentWatchTests {
    /// A project whose one query has this name.
    private static func project(_ query: String) -> Project {
        let schema = "type Novel @table { title: String! }"
        let operations = "query \(query) @auth(level: PUBLIC, insecureReason: \"test\") { novels { title } }"
        return Project(
            serviceID: "library", schemaFiles: [SourceFile(path: "schema/schema.gql", text: schema)],
            connectors: [
                ConnectorSource(id: "main", files: [SourceFile(path: "connector/main.gql", text: operations)])
            ])
    }

    private static let folder = ProjectArchive(project("Folder"))
    private static let first = ProjectArchive(project("First"))
    private static let second = ProjectArchive(project("Second"))
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// A database of its own, and the rows in it.
    private struct Fixture: Sendable {
        let pool: PostgresPool
        let store: DeploymentStore

        func watch(
            _ folder: ProjectArchive = DeploymentWatchTests.folder, othersMax: Int = 4, keepMs: Int64 = 600_000,
            pollMs: Int = 3_600_000
        ) async throws -> DeploymentWatch {
            var settings = DeploymentWatch.Settings(pollMs: pollMs)
            settings.follower.othersMax = othersMax
            settings.follower.schedule.keepMs = keepMs
            return try await DeploymentWatch.start(
                store: store, folder: folder, catalog: try Catalog.compile(folder.project), node: NodeID("one"),
                settings: settings, logger: DeploymentWatchTests.logger)
        }

        /// - Returns: the deployment's id.
        @discardableResult
        func deploy(_ archive: ProjectArchive) async throws -> Int64 {
            let id = try await store.announce(archive, by: "test")
            #expect(try await store.activate(id))
            return id
        }

        /// Stores what no `freshet deploy` would.
        func announce(version: Digest, project: String) async throws {
            _ = try await pool.transaction([
                (
                    Statement(
                        """
                        INSERT INTO freshet.deployments (version, origin, project, created_by)
                        VALUES ($1::text, 'deploy', $2::text, 'test')
                        """), [.text(version.hex), .text(project)]
                )
            ])
        }

        /// Makes everything so far look as if it had happened so much earlier.
        func age(byMs ms: Int) async throws {
            try await pool.script(
                """
                UPDATE freshet.deployments SET created_at = created_at - interval '\(ms) ms',
                    active_at = active_at - interval '\(ms) ms', seen_at = seen_at - interval '\(ms) ms'
                """)
        }

        func versions() async throws -> [Digest] { try await store.history().deployments.map(\.version) }
    }

    private func with(_ body: @Sendable (Fixture) async throws -> Void) async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let server = try await LocalPostgres.start(dataDirectory: temporary.path + "/postgres", options: .forTests)
        let pool = PostgresPool(
            configuration: PostgresConfiguration(connectionString: server.connectionString), logger: Self.logger)
        let outcome: Result<Void, any Error>
        do {
            try await pool.start()
            try await pool.script(ServiceSchema.sql)
            try await body(Fixture(pool: pool, store: DeploymentStore(pool: pool)))
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await pool.stop()
        await server.stop()
        try outcome.get()
    }

    private func served(_ watch: DeploymentWatch) -> [Digest] { watch.catalogs.set.members.map(\.version) }

    private func operations(_ watch: DeploymentWatch) -> [String] {
        watch.catalogs.set.current.catalog.connectors["main"]?.operations.keys.sorted() ?? []
    }

    @Test func aNodeServesItsFolderUntilSomethingIsDeployed() async throws {
        try await with { fixture in
            let watch = try await fixture.watch()
            #expect(served(watch) == [Self.folder.version])
            #expect(watch.problem.isEmpty)
            #expect(try await fixture.versions() == [Self.folder.version])
            // The row of a folder is written once, and its time is noted.
            _ = try await fixture.watch()
            #expect(try await fixture.versions() == [Self.folder.version])
        }
    }

    @Test func anAnnouncementIsLoadedAndBecomesCurrentWhenActivated() async throws {
        try await with { fixture in
            let watch = try await fixture.watch()
            let id = try await fixture.store.announce(Self.first, by: "test")
            await watch.poll()
            #expect(served(watch) == [Self.folder.version, Self.first.version])
            #expect(watch.catalogs.set.formers.isEmpty, "no request may begin with what is only announced")
            #expect(watch.catalogs.deploymentReached == id && operations(watch) == ["Folder"])

            #expect(try await fixture.store.activate(id))
            await watch.poll()
            #expect(served(watch) == [Self.first.version, Self.folder.version])
            #expect(watch.catalogs.set.formers.map(\.version) == [Self.folder.version])
            #expect(operations(watch) == ["First"])
        }
    }

    @Test func aNodeThatStartsAdoptsWhatIsDeployedAndNotItsFolder() async throws {
        try await with { fixture in
            let id = try await fixture.deploy(Self.first)
            let watch = try await fixture.watch()
            #expect(watch.catalogs.set.current.version == Self.first.version)
            #expect(watch.catalogs.deploymentReached == id)
            #expect(try await fixture.versions() == [Self.first.version], "its folder is not in the history")
        }
    }

    @Test func aMutationOfAnEarlierDeploymentHoldsTheLoadedOneBack() async throws {
        try await with { fixture in
            let watch = try await fixture.watch()
            let before = watch.catalogs.deploymentReached
            let mutation = watch.catalogs.begin()
            let id = try await fixture.store.announce(Self.first, by: "test")
            await watch.poll()
            #expect(watch.catalogs.deploymentReached == before)
            watch.catalogs.ended(mutation)
            #expect(watch.catalogs.deploymentReached == id)
        }
    }

    @Test func aVersionThatDoesNotCompileIsRefusedAndHoldsTheLoadedDeploymentBack() async throws {
        try await with { fixture in
            let watch = try await fixture.watch()
            let before = watch.catalogs.deploymentReached
            let broken = ProjectArchive(
                Project(
                    serviceID: "library",
                    schemaFiles: [SourceFile(path: "schema.gql", text: "type Novel @table { title: Nonsense! }")],
                    connectors: []))
            let id = try await fixture.store.announce(broken, by: "test")
            await watch.poll()
            #expect(served(watch) == [Self.folder.version])
            #expect(watch.catalogs.deploymentReached == before && before == id - 1)
            #expect(watch.problem.contains("cannot be compiled by this node"), "\(watch.problem)")
            // The operator withdraws it.
            try await fixture.store.withdrawAnnounced()
            await watch.poll()
            #expect(watch.problem.isEmpty)
        }
    }

    @Test func aTextThatIsNoProjectIsRefused() async throws {
        try await with { fixture in
            let watch = try await fixture.watch()
            try await fixture.announce(version: Self.first.version, project: "[1, 2")
            await watch.poll()
            #expect(served(watch) == [Self.folder.version])
            #expect(watch.problem.contains("is not JSON"), "\(watch.problem)")
        }
    }

    @Test func aNodeDoesNotStartWhenTheDeployedVersionCannotBeServed() async throws {
        try await with { fixture in
            try await fixture.announce(version: Self.first.version, project: "{}")
            let id = try #require(try await fixture.store.history().deployments.last?.id)
            #expect(try await fixture.store.activate(id))
            let error = await #expect(throws: DeploymentError.self) { _ = try await fixture.watch() }
            #expect(error?.isTransient == false)
            #expect(error?.description.contains("has another format") == true, "\(String(describing: error))")
        }
    }

    @Test func goingBackMakesTheFormerVersionCurrentAgain() async throws {
        try await with { fixture in
            let watch = try await fixture.watch()
            try await fixture.deploy(Self.first)
            try await fixture.deploy(Self.second)
            await watch.poll()
            #expect(operations(watch) == ["Second"])
            let id = try await fixture.deploy(Self.first)
            await watch.poll()
            #expect(served(watch) == [Self.first.version, Self.second.version, Self.folder.version])
            #expect(watch.catalogs.deploymentReached == id && operations(watch) == ["First"])
        }
    }

    @Test func theOldestOfTooManyVersionsAreNotServed() async throws {
        try await with { fixture in
            let watch = try await fixture.watch(othersMax: 1)
            try await fixture.deploy(Self.first)
            try await fixture.deploy(Self.second)
            await watch.poll()
            #expect(served(watch) == [Self.second.version, Self.first.version])
        }
    }

    @Test func sessionsMoveAfterTheTimeOfTheirVersionAndThenItIsGone() async throws {
        try await with { fixture in
            let watch = try await fixture.watch(keepMs: 60_000, pollMs: 1)
            try await fixture.deploy(Self.first)
            try await fixture.age(byMs: 61_000)
            let staying = Mutex<Set<Digest>?>(nil)
            let running = Task {
                await watch.run { versions in staying.withLock { $0 = versions } }
            }
            #expect(await eventually { staying.withLock { $0 } == [Self.first.version] })
            #expect(served(watch) == [Self.first.version, Self.folder.version])
            #expect(watch.catalogs.set.formers.isEmpty, "no request begins with what is about to go")
            running.cancel()
            await running.value
            // Twice the time of moving, and a pause for stragglers.
            try await fixture.age(byMs: 2 * 30_000 + Int(DeploymentSchedule.Settings().stragglerMs))
            await watch.poll()
            #expect(served(watch) == [Self.first.version])
        }
    }

    @Test func aMoveInProgressEndsWithTheRun() async throws {
        try await with { fixture in
            let watch = try await fixture.watch(pollMs: 1)
            let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
            let hasEnded = Mutex(false)
            let running = Task {
                await watch.run { _ in
                    hasBegun.finish()
                    while !Task.isCancelled { try? await Task.sleep(for: .seconds(3_600)) }
                    hasEnded.withLock { $0 = true }
                }
            }
            for await _ in begun {}
            running.cancel()
            await running.value
            #expect(hasEnded.withLock { $0 })
        }
    }

    @Test func pruningKeepsWhatIsServedAndTheYoungestRows() async throws {
        try await with { fixture in
            _ = try await fixture.watch()
            for archive in [Self.first, Self.second, Self.first, Self.second] { try await fixture.deploy(archive) }
            try await fixture.store.prune(keeping: [Self.folder.version], historyMax: 2)
            #expect(try await fixture.versions() == [Self.folder.version, Self.first.version, Self.second.version])
            try await fixture.store.prune(keeping: [Self.second.version], historyMax: 1)
            #expect(try await fixture.versions() == [Self.second.version])
            #expect(try await fixture.store.project(Self.first.version) == nil)
        }
    }

    @Test func anAnnouncementThatWaitedTooLongIsVoid() async throws {
        try await with { fixture in
            let watch = try await fixture.watch()
            let id = try await fixture.store.announce(Self.first, by: "test")
            try await fixture.age(byMs: Int(DeploymentSchedule.announcedMaxMs))
            #expect(try await fixture.store.activate(id) == false)
            await watch.poll()
            #expect(served(watch) == [Self.folder.version])
        }
    }

    @Test func theServedDeploymentStaysWhileTheDatabaseIsAway() async throws {
        try await with { fixture in
            try await fixture.deploy(Self.first)
            let watch = try await fixture.watch()
            #expect(await watch.poll() == nil)
            await fixture.pool.stop()
            #expect(await watch.poll() != nil)
            #expect(served(watch).first == Self.first.version)
            #expect(!watch.problem.isEmpty)
        }
    }
}
