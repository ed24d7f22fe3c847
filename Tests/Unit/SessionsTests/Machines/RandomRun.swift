import JSON
import LiveModel
import SeededRandom
import Sessions
import Testing

/// One random session: what a client may send and a service may say, in any order. After every step the machine is
/// compared with a model of what is running.
struct RandomRun {
    private let script: MachineScript
    private let seed: UInt64
    private var random: SeededRandom
    private var machine: any SessionMachine
    private var running: Set<String> = []
    private var isAuthenticating = false
    private var isClosed = false
    private static let operationsMax = 3
    private static let ids = ["1", "2", "3", "4", "5", "a\"b"]

    init(_ script: MachineScript, seed: UInt64) {
        self.script = script
        self.seed = seed
        random = SeededRandom(seed: seed &+ 1)
        machine = script.make(SessionOpening(operationsMax: Self.operationsMax))
    }

    mutating func go(steps: Int) {
        check(machine.opened(), about: nil, "opened")
        for _ in 0..<steps { step() }
    }

    private mutating func step() {
        let id = Self.ids.randomElement(using: &random)!
        let quoted = id.replacing("\"", with: "\\\"")
        let error = RequestError(.timeout, "slow")
        switch Int.random(in: 0..<100, using: &random) {
        case ..<18:
            for text in script.introduction { check(machine.received(text: Array(text.utf8)), about: nil, text) }
        case ..<45: check(machine.received(text: Array(script.start(quoted).utf8)), about: id, "start \(id)")
        case ..<60: check(machine.received(text: Array(script.stop(quoted).utf8)), about: id, "stop \(id)")
        case ..<61:
            let text = script.badFrames.randomElement(using: &random)!
            check(machine.received(text: Array(text.utf8)), about: nil, text)
        case ..<75:
            guard isAuthenticating else { return }
            isAuthenticating = false
            check(machine.authenticated(), about: nil, "authenticated")
        case ..<76:
            guard isAuthenticating else { return }
            isAuthenticating = false
            check(machine.rejected(RequestError(.unauthenticated, "no")), about: nil, "rejected")
        case ..<80 where running.contains(id): check(machine.started(id: id), about: id, "started \(id)")
        case ..<86:
            check(
                machine.finished(id: id, answer: OperationAnswer(body: Array("{}".utf8))), about: id, "finished \(id)",
                ends: id)
        case ..<89: check(machine.failed(id: id, [error]), about: id, "failed \(id)", ends: id)
        case ..<92: check(machine.queryFailed(id: id, [error]), about: id, "query \(id) failed", ends: id)
        case ..<97: check(machine.refreshFailed(id: id, [error]), about: id, "refresh of \(id) failed")
        case ..<98: check(machine.keepAliveDue(), about: nil, "keep-alive")
        case ..<99:
            let ids = running.sorted()
            let actions = machine.expired(ids: ids, .tokenExpired)
            running = []
            checkQuiet(actions, "expired")
        default: check(machine.initTimedOut(), about: nil, "initTimedOut")
        }
    }

    private mutating func check(_ actions: [SessionAction], about id: String?, _ event: String, ends: String? = nil) {
        let wasRunning = running
        if let ends { running.remove(ends) }
        // Stops come first: a reused id is stopped and started in one step.
        for action in actions {
            switch action {
            case .stop(let id):
                #expect(running.remove(id) != nil, "seed \(seed): \(event) stops \(id), which does not run")
            case .start(let id, _, _):
                #expect(running.insert(id).inserted, "seed \(seed): \(event) starts \(id) twice")
            case .send, .refuse, .withdrawRefusal, .close, .end, .authenticate, .rerun, .wait: break
            }
        }
        for reading in script.readings(actions) {
            switch reading {
            case .result(let id):
                #expect(wasRunning.contains(id), "seed \(seed): \(event) sends a result for \(id), which did not run")
            case .end, .other: break
            }
        }
        checkQuiet(actions, event)
        if isClosed { running = [] }
        #expect(running.count <= Self.operationsMax, "seed \(seed): \(event)")
        for id in Self.ids where running.contains(id) {
            #expect(machine.isActive(id), "seed \(seed): \(event): \(id) runs and is not active")
        }
    }

    private mutating func checkQuiet(_ actions: [SessionAction], _ event: String) {
        if isClosed { #expect(actions.isEmpty, "seed \(seed): \(event) after the end: \(actionTexts(actions))") }
        for action in actions {
            switch action {
            case .close, .end: isClosed = true
            case .authenticate:
                #expect(!isAuthenticating, "seed \(seed): \(event) asks for a second judgement")
                isAuthenticating = true
            case .send, .refuse, .withdrawRefusal, .start, .stop, .rerun, .wait: break
            }
        }
    }
}
