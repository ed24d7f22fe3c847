import Catalog
import Execution
import Inspection
import JSON
import LiveModel
import Recording
import Sessions

/// Notes of sessions in the flight recorders of their users: one branch each unless something is recorded.
extension ClientSession {
    func note(
        _ kind: FlightEntry.Kind, of identity: Identity? = nil, operation: String = "",
        _ details: @autoclosure () -> JSONObject = [:]
    ) {
        guard let recorder = hub.recorder, recorder.isOn else { return }
        guard let uid = (identity ?? self.identity).auth?.uid else { return }
        recorder.flight(of: uid, kind, permit.id, operation: operation, details())
    }

    func note(refused error: RequestError, of identity: Identity? = nil, operation: String = "") {
        note(.refused, of: identity, operation: operation, FlightDetails.error(error))
    }

    /// Notes that the client has this identity now.
    func noteIdentity(after former: Identity) {
        let isRenewal = former.auth?.uid == identity.auth?.uid
        if !suspended.isEmpty { hub.recorder?.resumed(permit.id) }
        note(
            isRenewal ? .renewed : .began,
            FlightDetails.session(protocolName, permit, identity, nowMs: executor.clock.nowMs()))
    }
}

extension HTTPSession {
    func noteBegin(_ protocolName: String) {
        guard let recorder = hub.recorder, recorder.isOn, let uid = identity.auth?.uid else { return }
        recorder.flight(
            of: uid, .began, permit.id, operation: liveQuery.operation.description,
            FlightDetails.session(protocolName, permit, identity, nowMs: executor.clock.nowMs()))
    }
}

private enum FlightDetails {
    /// The characters of an error's message that are kept.
    static let messageMax = 200

    static func error(_ error: RequestError) -> JSONObject {
        ["code": .string(error.code.rawValue), "reason": .string(String(error.message.prefix(messageMax)))]
    }

    static func session(
        _ protocolName: String, _ permit: SessionPermit, _ identity: Identity, nowMs: Int64
    ) -> JSONObject {
        let client = permit.registeredClient
        var object: JSONObject = ["protocol": .string(protocolName)]
        if !client.text.isEmpty { object["client"] = .string(client.text) }
        if !client.peer.isEmpty { object["peer"] = .string(client.peer) }
        object["tokenExpiresInMs"] = identity.expiresAtMs.map { .int($0 - nowMs) }
        return object
    }
}

extension ClientSession {
    /// Notes why a live query's run failed.
    func note(failed error: RequestError, of operation: FollowedOperation) {
        note(
            .failed, operation: operation.resolved?.operation.reference.description ?? "", FlightDetails.error(error))
    }

    /// Notes the end of the connection.
    /// - Parameter code: of the client's close frame; nil without one.
    func noteEnd(code: UInt16?) {
        var details = JSONObject()
        details["code"] = (closing?.code ?? code).map { .string("\($0)") }
        let ownReason = leaving ?? closing.map { "the server closed it: \($0.reason)" }
        details["reason"] = .string(ownReason ?? (code == nil ? "the connection broke" : "the client left"))
        note(.ended, details)
    }
}
