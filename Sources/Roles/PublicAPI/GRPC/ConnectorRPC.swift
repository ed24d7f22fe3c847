import Execution
package import GRPC
import Gateway
import HTTPServer
import JSON
import LiveModel
import NIOCore
import NIOHPACK
import Observability
import Sessions

/// SQL Connect over gRPC, for Android and iOS. Source: docs/reference/sql-connect.md §3.
extension PublicRouter: GRPCHandler {
    private static let package = "google.firebase.dataconnect.v1."

    package func accept(_ head: GRPCCallHead) -> GRPCAcceptance {
        switch head.path {
        case "/\(Self.package)ConnectorService/ExecuteQuery": unary(.executeQuery, head)
        case "/\(Self.package)ConnectorService/ExecuteMutation": unary(.executeMutation, head)
        case "/\(Self.package)ConnectorStreamService/Connect": connect(head)
        default:
            settings.emulator.flatMap { emulator($0, head) }
                ?? .refuse(
                    GRPCStatus(
                        code: RPCCode.unimplemented.rawValue, message: "no such method: \(head.path.prefix(128))"))
        }
    }

    // MARK: ConnectorService

    private func unary(_ method: ConnectorCall.Method, _ head: GRPCCallHead) -> GRPCAcceptance {
        guard settings.isAPI else {
            return .refuse(GRPCStatus(SQLConnectFailure(RequestError.runsNoOperations)))
        }
        return .unary { [self] message, call in
            let parent = head.metadata.first(name: TraceParent.headerName).flatMap { TraceParent($0) }
            let traceID = (parent?.traceID ?? TraceID()).description
            executor.withRequest(
                Self.credentials(head), from: address(head), traceID: traceID, on: call.taskExecutor
            ) { [self] identity throws(RequestError) in
                var request: OperationRequest
                do throws(SQLConnectFailure) {
                    request = try self.request(Array(message.readableBytesView))
                } catch {
                    return call.eventLoop.execute { call.finish(GRPCStatus(error)) }
                }
                try request.take(idempotencyKeyHeader: head.metadata.first(name: IdempotencyKey.headerName))
                let answer = try await sqlConnectAnswer(request, method, identity, traceID: traceID) {
                    $0.isTraced = parent?.isSampled == true && self.executor.mayTrace()
                    $0.parentSpan = parent?.spanID
                }
                call.eventLoop.execute { call.respond(StreamProtobuf.unaryResponse(answer)) }
            } failed: { error in
                call.eventLoop.execute { call.finish(GRPCStatus(SQLConnectFailure(error))) }
            }
        }
    }

    private func request(_ message: [UInt8]) throws(SQLConnectFailure) -> OperationRequest {
        let sent: (name: String, wanted: StreamRequest.Execute)
        do throws(ProtobufError) {
            sent = try StreamProtobuf.unaryRequest(message)
        } catch {
            throw SQLConnectFailure(.badRequest, error.message)
        }
        guard let name = ConnectorName(sent.name) else {
            throw SQLConnectFailure(.badRequest, "\"name\" must be projects/P/locations/L/services/S/connectors/C")
        }
        if let refusal = executor.serviceIdentity.refusal(of: name) { throw refusal }
        return OperationRequest(
            connector: name.connector, operationName: sent.wanted.operationName, variables: sent.wanted.variables)
    }

    private static func credentials(_ head: GRPCCallHead) -> Credentials {
        Credentials(header: { head.metadata.first(name: $0) })
    }

    func address(_ head: GRPCCallHead) -> QuotaSubject? {
        address(head.remoteAddress, forwarded: head.forwarded)
    }

    // MARK: ConnectorStreamService

    private func connect(_ head: GRPCCallHead) -> GRPCAcceptance {
        guard let gateway else {
            return .refuse(GRPCStatus(SQLConnectFailure(RequestError.servesNoLiveQueries)))
        }
        let address = address(head)
        let permit: SessionPermit
        do throws(RequestError) {
            try admitSession(from: address)
            permit = try SessionPermit(connectionFrom: address, sessions, executor.quotas)
        } catch {
            return .refuse(GRPCStatus(SQLConnectFailure(error)))
        }
        guard let hub = gateway.hub(of: head.eventLoop) else {
            return .refuse(GRPCStatus(SQLConnectFailure(.internalError, "no gateway on this event loop")))
        }
        let machine = ConnectorStreamMachine<StreamProtobuf>(
            SessionOpening(
                credentials: Self.credentials(head), operationsMax: settings.session.operationsMax,
                waitingBytesMax: settings.session.waitingBytesMax),
            service: executor.serviceIdentity)
        return .stream { [self] call in
            call.addressRate = address.flatMap { addressRates?.rate(of: $0.name, on: call.eventLoop) }
            let session = executor.open(
                permit, on: call.eventLoop, peer: head.remoteAddress,
                client: ClientDescription { head.metadata.first(name: $0) }
            ) {
                ClientSession(
                    connection: GRPCSessionConnection(call), machine: machine, executor: $0, hub: hub,
                    limits: settings.session, address: address, permit: permit)
            }
            return GRPCSession(session)
        }
    }
}

extension GRPCStatus {
    init(_ failure: SQLConnectFailure) {
        self.init(
            code: failure.code.rawValue, message: failure.message,
            retryAfterMs: failure.error.retryAfterMs.map(Int64.init))
    }
}
