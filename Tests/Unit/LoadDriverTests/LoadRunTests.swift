import HTTPServer
import JSON
import Logging
import ProtocolClients
import Testing

@testable import LoadDriver

/// Whole runs against a small server in this process. Times are short, and nothing is asserted about them.
@Suite(.serialized) struct LoadRunTests {
    private func scenario(_ transport: LoadTransport, operation: String = "Get") throws -> Scenario {
        try ScenarioFile.parse(
            name: "run.yaml",
            text: """
                connector: notes
                transport: \(transport.rawValue)
                seed: 11
                rows: {operation: List, path: notes}
                subscribers:
                  - count: 20
                    operation: \(operation)
                    variables: {id: "{{row.id}}"}
                mutations:
                  - operation: Set
                    perSecond: 200
                    variables: {id: "{{row.id}}", text: "now {{marker}}"}
                connectPerSecond: 1000
                connectTimeoutMs: 10000
                warmUpMs: 100
                durationMs: 500
                settleMs: 5000
                """)
    }

    private func run(
        _ scenario: Scenario, against service: SmallService, gateways: Int = 1
    ) async throws -> Result<LoadReport, LoadError> {
        var logger = Logger(label: "test")
        logger.logLevel = .error
        var servers: [HTTPServer] = []
        var addresses: [ServerAddress] = []
        for _ in 0..<gateways {
            let server = HTTPServer(configuration: .init(), handler: service, logger: logger)
            addresses.append(ServerAddress(host: "127.0.0.1", port: try await server.start()))
            servers.append(server)
        }
        let result: Result<LoadReport, LoadError>
        do throws(LoadError) {
            result = .success(try await LoadRun(scenario, options: .init(gateways: addresses)).run { _ in })
        } catch {
            result = .failure(error)
        }
        for server in servers { await server.shutdown(graceMs: 0) }
        return result
    }

    @Test(arguments: LoadTransport.allCases)
    func everyTransportConverges(_ transport: LoadTransport) async throws {
        let report = try await run(try scenario(transport), against: SmallService(notes: 5)).get()
        #expect(report.verdict.isConverged && report.verdict.liveQueries == 5 && report.verdict.subscribers == 20)
        #expect(report.subscribedAtStart == 20 && report.firstResult.count == 20)
        #expect(report.mutationsSent == 100 && report.mutationsAnswered == 100)
        #expect(report.mutationLatency.count == 100)
        // `delivered` counts within the measured time, which a starved machine may miss; latencies are by mutation.
        #expect(report.deliveryLatency.count > 0)
        #expect(report.errors.counts == [:] && report.dropped == 0)
        #expect(report.seed == 11 && report.transports == [transport.rawValue])
        if transport != .longpoll {
            // Four subscribers saw each mutation, whose time was taken once for each.
            #expect(report.deliveryLatency.count == 400)
            #expect(report.connects == 20)
        }
    }

    @Test func subscribersAreSpreadOverGateways() async throws {
        let report = try await run(try scenario(.sse), against: SmallService(notes: 5), gateways: 2).get()
        #expect(report.verdict.isConverged && report.gateways.count == 2)
    }

    @Test(arguments: LoadTransport.allCases)
    func aSilentServerIsFoundOut(_ transport: LoadTransport) async throws {
        var scenario = try scenario(transport)
        scenario.settleMs = 200
        let service = SmallService(notes: 1, fault: .fallsSilent(after: 60))
        let report = try await run(scenario, against: service).get()
        #expect(report.verdict.notConverged == 20)
        #expect(report.verdict.differences.count == 1)
        #expect(report.verdict.differences.first?.variables == #"{"id":"n0"}"#)
    }

    @Test(arguments: LoadTransport.allCases)
    func brokenConnectionsComeBack(_ transport: LoadTransport) async throws {
        let service = SmallService(notes: 5, fault: .dropsAll(after: 60))
        let report = try await run(try scenario(transport), against: service).get()
        #expect(report.dropped > 0 && report.connects > 20)
        #expect(report.verdict.isConverged)
    }

    @Test func aStoppedRunIsStillJudged() async throws {
        var scenario = try scenario(.graphqlTransportWS)
        scenario.durationMs = 600_000
        let service = SmallService(notes: 5)
        var logger = Logger(label: "test")
        logger.logLevel = .error
        let server = HTTPServer(configuration: .init(), handler: service, logger: logger)
        let address = ServerAddress(host: "127.0.0.1", port: try await server.start())
        let run = LoadRun(scenario, options: .init(gateways: [address]))
        let report = try await run.run { if $0.mutationsAnswered > 0 { run.stop() } }
        await server.shutdown(graceMs: 0)
        #expect(report.wasStopped && report.durationMs < 600_000)
        #expect(report.verdict.isConverged && report.mutationsSent == report.mutationsAnswered)
    }

    @Test func aServerThatHangsIsJudgedInTime() async throws {
        var scenario = try scenario(.graphqlTransportWS)
        scenario.settleMs = 0
        // Far above what an answer takes on a busy machine.
        scenario.requestTimeoutMs = 3_000
        let report = try await run(scenario, against: SmallService(notes: 5, fault: .hangs(after: 60))).get()
        #expect(!report.hasPassed && report.verdict.notConverged == 20)
        #expect(report.mutationsAnswered == 40 && report.mutationsFailed == 60)
        #expect(report.errors.counts == [CodedFailure.timeout: 60])
        #expect(report.verdict.differences.allSatisfy { $0.reason.hasPrefix("could not be read") })
    }

    @Test func failedMutationsDoNotPass() async throws {
        var scenario = try scenario(.sse)
        scenario.mutations[0].operation = "Sett"
        let report = try await run(scenario, against: SmallService(notes: 5)).get()
        #expect(report.verdict.isConverged && !report.hasPassed)
        #expect(report.mutationsFailed == 100 && report.errors.counts["OPERATION_NOT_FOUND"] == 120)
    }

    @Test func anUnknownOperationIsTheScenariosFault() async throws {
        let result = try await run(try scenario(.sse, operation: "Gett"), against: SmallService(notes: 1))
        guard case .failure(let error) = result else {
            Issue.record("ran")
            return
        }
        #expect(error.code == .scenario)
        #expect(error.description == "run.yaml:6: Gett: OPERATION_NOT_FOUND: no such operation")
    }

    @Test func missingRowFieldsAreTheScenariosFault() async throws {
        var scenario = try scenario(.sse)
        scenario.groups[0].variables = .text(try Template(parsing: "{{row.nope}}", scope: .subscriber))
        let result = try await run(scenario, against: SmallService(notes: 1))
        guard case .failure(let error) = result else {
            Issue.record("ran")
            return
        }
        #expect(error.description == "run.yaml:6: the rows have no field \"nope\"")
    }

    @Test func anUnreachableGatewayIsAnErrorOfTheEnvironment() async throws {
        // Port 1 of this machine has no listener.
        let run = LoadRun(try scenario(.sse), options: .init(gateways: [ServerAddress(host: "127.0.0.1", port: 1)]))
        await #expect {
            _ = try await run.run { _ in }
        } throws: { error in
            (error as? LoadError)?.code == .environment
        }
    }
}
