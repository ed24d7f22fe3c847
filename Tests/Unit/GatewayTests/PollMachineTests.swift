import LiveModel
import Testing

@testable import Gateway

@Suite struct PollMachineTests {
    private func known(_ number: UInt8) -> KnownResult {
        KnownResult(
            digest: Digest(of: [number]),
            position: Position(epoch: 1, run: UInt64(number), id: StreamID(ms: 1, sequence: 0)))
    }

    private func text(_ next: PollMachine<String>.NextPoll) -> String {
        switch next {
        case .refuse: "refuse"
        case .deliver(let shared): "deliver \(shared)"
        case .wait(let ms): "wait \(ms)"
        }
    }

    @Test func theFirstResultAnswersThePoll() {
        for mayRemain in [true, false] {
            var machine = PollMachine<String>(known: known(1))
            let delivery = machine.delivered("2", known(2), mayRemain: mayRemain)
            #expect(delivery == (mayRemain ? .answer(known: known(1)) : .end))
            // Only a poll that is not answered yet is answered at the end.
            #expect(machine.end() == (mayRemain ? .silent : .answer(known: known(1))))
        }
    }

    @Test func theNewestResultSinceTheAnswerIsForTheNextPoll() {
        let cases: [(since: [UInt8], next: String)] = [
            ([], "wait 7"), ([3], "deliver 3"), ([3, 4], "deliver 4"), ([2], "wait 7"), ([3, 2], "wait 7"),
        ]
        for one in cases {
            var machine = PollMachine<String>(known: nil)
            #expect(machine.delivered("2", known(2), mayRemain: true) == .answer(known: nil))
            for number in one.since {
                #expect(machine.delivered("\(number)", known(number), mayRemain: false) == .keep)
            }
            #expect(text(machine.polledAgain(waitMs: 7)) == one.next, "\(one.since)")
            // The next poll waits for another result than the client has.
            #expect(machine.end() == .answer(known: known(2)))
        }
    }

    @Test func aPollThatMustBePreparedAnewIsRefused() {
        var machine = PollMachine<String>(known: nil)
        #expect(text(machine.polledAgain(waitMs: 7)) == "refuse", "nothing has been answered")
        _ = machine.delivered("2", known(2), mayRemain: true)
        #expect(text(machine.polledAgain(waitMs: nil)) == "refuse")
        #expect(machine.end() == .silent)
        #expect(text(machine.polledAgain(waitMs: 7)) == "refuse")
    }

    @Test func nothingFollowsTheEnd() {
        var machine = PollMachine<String>(known: known(1))
        #expect(machine.end() == .answer(known: known(1)))
        #expect(machine.delivered("2", known(2), mayRemain: true) == .keep)
        #expect(machine.end() == .silent)
    }
}
