import JSON
import LiveModel
import SeededRandom
import Sessions
import TestSupport
import Testing

/// Machines that do not speak JSON messages over a WebSocket, in random order against models.
@Suite struct RandomStreamTests {
    /// graphql-sse's single connection: which ids are under way, what is held before the stream opens, and how much.
    @Test func aSharedStreamKeepsItsRules() {
        for seed in 0..<400 * FuzzLength.factor {
            var random = SeededRandom(seed: UInt64(seed))
            let bytesMax = Int.random(in: 0...2_000, using: &random)
            var machine = SharedStreamMachine(operationsMax: 3, bytesMax: bytesMax)
            var running: Set<String> = []
            var held: [[UInt8]] = []
            var (isOpen, isClosed, isOver) = (false, false, false)
            for step in 0..<80 where !isOver {
                let id = ["1", "2", "3", "4", "ü\"", ""].randomElement(using: &random) ?? ""
                let place = "seed \(seed), step \(step)"
                func offered(_ text: SharedStreamMachine.Text, isExpected: Bool) {
                    switch text {
                    case .none: #expect(!isExpected || isClosed || !isOpen, "\(place)")
                    case .write(let bytes):
                        #expect(isExpected && isOpen && !isClosed, "\(place)")
                        #expect(bytes.starts(with: Array("event: next\n".utf8)), "\(place)")
                        #expect(bytes.suffix(2) == Array("\n\n".utf8), "\(place)")
                    case .overflow:
                        #expect(isExpected && !isOpen, "\(place)")
                        isOver = true
                    }
                }
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<4:
                    switch machine.start(id: id) {
                    case .started:
                        #expect(!isClosed && !id.isEmpty && running.count < 3, "\(place)")
                        #expect(running.insert(id).inserted, "\(place)")
                    case .conflict: #expect(running.contains(id), "\(place)")
                    case .refused: #expect(isClosed || id.isEmpty || running.count == 3, "\(place)")
                    }
                case 4: #expect(machine.stop(id: id) == (running.remove(id) != nil), "\(place)")
                case 5, 6:
                    let wasRunning = running.remove(id) != nil
                    let envelope = Array("{\"data\":{\"n\":\(step)}}".utf8)
                    let text = machine.finished(id: id, envelope: envelope)
                    offered(text, isExpected: wasRunning)
                    if wasRunning, !isOpen, !isClosed, !isOver { held.append(envelope) }
                case 7:
                    let text = machine.refreshFailed(id: id, [RequestError(.timeout, "slow")])
                    offered(text, isExpected: running.contains(id))
                    if running.contains(id), !isOpen, !isClosed, !isOver { held.append(Array("slow".utf8)) }
                case 8:
                    switch machine.open() {
                    case .opened(let texts):
                        #expect(!isOpen && !isClosed && texts.count == held.count, "\(place)")
                        #expect(texts.reduce(0) { $0 + $1.count } <= bytesMax, "\(place)")
                        for (text, part) in zip(texts, held) {
                            let found = String(decoding: text, as: UTF8.self)
                            #expect(found.contains(String(decoding: part, as: UTF8.self)), "\(place)")
                        }
                        isOpen = true
                    case .conflict: #expect(isOpen && !isClosed, "\(place)")
                    case .gone: #expect(isClosed, "\(place)")
                    }
                default:
                    guard Int.random(in: 0..<20, using: &random) == 0 else { continue }
                    machine.close()
                    (running, isClosed) = ([], true)
                }
                #expect(machine.operationCount == running.count, "\(place)")
            }
        }
    }

    /// gRPC's messages with bytes changed, cut off or doubled, through the whole machine.
    @Test func damagedProtobufDoesNoHarm() {
        // {name, request_id "1", subscribe {operation_name "A"}}, and a cancel.
        let name = Array("projects/p/locations/l/services/s/connectors/c".utf8)
        let subscribe = [0x0A, UInt8(name.count)] + name + [0x12, 1, 0x31, 0x1A, 3, 0x12, 1, 0x41]
        let cancel: [UInt8] = [0x12, 1, 0x31, 0x32, 0]
        let service = ServiceIdentity(service: "s", location: "l", connectors: ["c"])
        var begun = 0
        for seed in 0..<400 * FuzzLength.factor {
            var random = SeededRandom(seed: UInt64(seed))
            var machine = ConnectorStreamMachine<StreamProtobuf>(SessionOpening(operationsMax: 4), service: service)
            var running: Set<String> = []
            var isClosed = false
            for step in 0..<40 {
                var bytes = Bool.random(using: &random) ? subscribe : cancel
                // Most are whole: a stream ends with the first message that cannot be read.
                for _ in 0..<max(0, Int.random(in: -8...3, using: &random)) where !bytes.isEmpty {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
                    case 1: bytes.removeSubrange(place...)
                    default: bytes.insert(contentsOf: bytes[place...], at: place)
                    }
                }
                let actions = machine.received(binary: bytes)
                if isClosed { #expect(actions.isEmpty, "seed \(seed), step \(step)") }
                for action in actions {
                    switch action {
                    case .start(let id, _, .follow):
                        begun += 1
                        #expect(running.insert(id).inserted, "seed \(seed), step \(step)")
                    case .start, .rerun, .wait, .send, .refuse, .withdrawRefusal: break
                    case .stop(let id): #expect(running.remove(id) != nil, "seed \(seed), step \(step)")
                    case .authenticate: _ = machine.authenticated()
                    case .close, .end: isClosed = true
                    }
                }
                #expect(running.count <= 4 && machine.operationCount <= 4 + 256 + 8, "seed \(seed), step \(step)")
            }
        }
        #expect(begun >= 100, "some of them mean something: \(begun)")
    }
}
