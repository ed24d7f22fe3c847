import JSON
import LiveModel
import Sessions

/// One input is one session of the protocol that its first byte names. Then come lines: what a client says, or, after
/// `!`, what the service does. A line of protocol buffers is written in hexadecimal digits.
///
/// Whatever the bytes: no trap; nothing after the end; no operation past the bound, none started twice or stopped that
/// does not run; every text of the server is JSON; an operation that runs is active.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let kind = bytes.first else { return 0 }
    let opening = SessionOpening(operationsMax: 3)
    let service = ServiceIdentity(service: "s", location: "l", connectors: ["c"])
    let lines = bytes.dropFirst().split(separator: UInt8(ascii: "\n"), maxSplits: 200, omittingEmptySubsequences: true)
    switch kind {
    case UInt8(ascii: "t"): Session(GraphQLTransportWSMachine(opening)).run(lines)
    case UInt8(ascii: "g"): Session(GraphQLWSMachine(opening)).run(lines)
    case UInt8(ascii: "a"): Session(AppSyncMachine(opening, handshake: .apiKey("k"))).run(lines)
    case UInt8(ascii: "c"): Session(ConnectorStreamMachine<StreamJSON>(opening, service: service)).run(lines)
    case UInt8(ascii: "p"):
        Session(ConnectorStreamMachine<StreamProtobuf>(opening, service: service), isText: false).run(lines)
    case UInt8(ascii: "h"): for line in lines { header(String(decoding: line, as: UTF8.self)) }
    default: break
    }
    return 0
}

/// Reads the text as headers, paths and queries are read.
private func header(_ text: String) {
    if let tag = EntityTag(ifNoneMatch: text) {
        precondition(EntityTag(ifNoneMatch: tag.description)?.description == tag.description, "tag \(tag)")
    }
    _ = EntityTag(bare: text)
    _ = Preferences.waitMs(text, maximumMs: 60_000)
    _ = Preferences.accepts("text/event-stream", in: text)
    _ = Preferences.acceptsDelta(text)
    _ = AcceptedAnswer(text)
    _ = AppSyncAuthorization(base64: text)
    _ = ConnectorCall(path: text)
    _ = ConnectorStreamPath(text)
    let proxies = AddressSet([text]) ?? AddressSet(["10.0.0.0/8", "::1"])
    _ = proxies?.client(peer: "10.0.0.1", forwarded: text)
    if case .object(let object)? = try? JSONParser.parse(Array(text.utf8)) {
        _ = try? OperationRequest(graphQL: object)
    }
}

private struct Session<Machine: SessionMachine> {
    private var machine: Machine
    private let isText: Bool
    private var running: Set<String> = []
    private var isJudging = false
    private var isClosed = false

    init(_ machine: Machine, isText: Bool = true) {
        self.machine = machine
        self.isText = isText
    }

    consuming func run(_ lines: [ArraySlice<UInt8>]) {
        var session = self
        session.check(session.machine.opened())
        for line in lines { session.step(line) }
    }

    private mutating func step(_ line: ArraySlice<UInt8>) {
        guard line.first == UInt8(ascii: "!") else {
            return check(isText ? machine.received(text: Array(line)) : machine.received(binary: Self.decode(line)))
        }
        let id = String(decoding: line.dropFirst(2), as: UTF8.self)
        let error = RequestError(.timeout, id)
        switch line.dropFirst().first.map({ Character(Unicode.Scalar($0)) }) {
        case "a":
            guard isJudging else { return }
            isJudging = false
            check(machine.authenticated())
        case "r":
            guard isJudging else { return }
            isJudging = false
            check(machine.rejected(error))
        case "s": if running.contains(id) { check(machine.started(id: id)) }
        case "f":
            running.remove(id)
            check(machine.finished(id: id, answer: OperationAnswer(body: Array("{}".utf8))))
        case "e":
            running.remove(id)
            check(machine.failed(id: id, [error]))
        case "q":
            running.remove(id)
            check(machine.queryFailed(id: id, [error]))
        case "w": check(machine.refreshFailed(id: id, [error]))
        case "k": check(machine.keepAliveDue())
        case "x":
            let ids = running.sorted()
            running = []
            check(machine.expired(ids: ids, .tokenExpired))
        case "i": check(machine.initTimedOut())
        case "c": check(machine.close(1013, id))
        case "b": check(machine.received(binary: Array(line.dropFirst(2))))
        default: break
        }
    }

    private mutating func check(_ actions: [SessionAction]) {
        precondition(!isClosed || actions.isEmpty, "after the end")
        for action in actions {
            switch action {
            case .stop(let id): precondition(running.remove(id) != nil, "stops \(id), which does not run")
            case .start(let id, _, _): precondition(running.insert(id).inserted, "starts \(id) twice")
            case .close(_, let reason):
                precondition(reason.utf8.count <= 123, "a long reason")
                isClosed = true
            case .end: isClosed = true
            case .authenticate:
                precondition(!isJudging, "a second judgement")
                isJudging = true
            case .send(let bytes), .refuse(_, let bytes):
                if isText { precondition((try? JSONParser.parse(bytes)) != nil, "sends what is no JSON") }
            case .rerun, .withdrawRefusal: break
            }
        }
        if isClosed { running = [] }
        precondition(running.count <= 3, "more than its maximum")
        for id in running { precondition(machine.isActive(id), "\(id) runs and is not active") }
    }

    private static func decode(_ line: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in line {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { continue }
            if let first = high {
                bytes.append(first << 4 | UInt8(value))
                high = nil
            } else {
                high = UInt8(value)
            }
        }
        return bytes
    }
}
