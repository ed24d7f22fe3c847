import Sessions
import Testing

@Suite struct SessionAdmissionTests {
    /// Numbers of a linear congruence: the same in every run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64 = 7
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    private var numbers = Numbers()

    private func count(_ count: Int, _ admission: inout SessionAdmission, at nowMs: Int64) -> [Int64] {
        var numbers = numbers
        return (0..<count).compactMap { _ in
            guard case .refused(let ms) = admission.arrived(nowMs: nowMs, random: &numbers) else { return nil }
            return ms
        }
    }

    @Test func theBurstThenTheRate() {
        var admission = SessionAdmission(perSecond: 100, burst: 20)
        #expect(count(30, &admission, at: 5_000).count == 10)
        #expect(count(1, &admission, at: 5_009).count == 1, "a token takes 10 ms")
        #expect(count(2, &admission, at: 5_010).count == 1)
        #expect(count(100, &admission, at: 5_510).count == 80, "never more than the burst")
        #expect(count(30, &admission, at: 100_000).count == 10)
    }

    @Test func zeroAdmitsEveryClient() {
        var admission = SessionAdmission(perSecond: 0, burst: 1)
        #expect(count(10_000, &admission, at: 0).isEmpty)
    }

    @Test func aClockThatJumpsBackChangesNothing() {
        var admission = SessionAdmission(perSecond: 10, burst: 1)
        #expect(count(2, &admission, at: 10_000).count == 1)
        #expect(count(1, &admission, at: 1_000).count == 1)
        #expect(count(1, &admission, at: 10_050).count == 1, "the time before the jump counts once")
        #expect(count(1, &admission, at: 10_100).isEmpty)
    }

    /// 4,000 in one moment at 500 a second: each of the next seconds gets as many as it can take.
    @Test func theRefusedComeBackEvenly() {
        var admission = SessionAdmission(perSecond: 500, burst: 500)
        let advice = count(4_500, &admission, at: 1_000)
        #expect(advice.count == 4_000)
        #expect(advice.allSatisfy { $0 % 1_000 == 0 && $0 >= 1_000 && $0 <= 10_000 })
        let bySecond = Dictionary(grouping: advice) { $0 / 1_000 }.mapValues(\.count)
        // The rounding shares out the first and the last second between two.
        for second in 2...8 { #expect(abs((bySecond[Int64(second)] ?? 0) - 500) < 80, "\(second): \(bySecond)") }
        #expect((bySecond[1] ?? 0) + (bySecond[9] ?? 0) < 600)
    }

    /// Clients that follow the advice, each at some instant of the second it was given, are all in after about as long
    /// as the rate needs; hardly any is refused three times.
    @Test func clientsThatFollowTheAdviceAreAdmitted() {
        var admission = SessionAdmission(perSecond: 200, burst: 100)
        var numbers = numbers
        var due = [Int64: Int](minimumCapacity: 0)
        due[0] = 2_000
        var waiting = 2_000
        var attempts = 0
        var lastMs: Int64 = 0
        for nowMs in Int64(0)..<60_000 {
            for _ in 0..<(due.removeValue(forKey: nowMs) ?? 0) {
                attempts += 1
                switch admission.arrived(nowMs: nowMs, random: &numbers) {
                case .admitted:
                    waiting -= 1
                    lastMs = nowMs
                case .refused(let afterMs):
                    due[nowMs + afterMs + Int64.random(in: 0..<1_000, using: &numbers), default: 0] += 1
                }
            }
        }
        #expect(waiting == 0)
        #expect(lastMs < 15_000, "2,000 at 200 a second; the last at \(lastMs) ms")
        #expect(attempts < 2_000 * 5 / 2, "\(attempts)")
    }

    @Test func adviceHasAMostAndIsSpreadOverIt() {
        var admission = SessionAdmission(perSecond: 1, burst: 1)
        let advice = count(10_000, &admission, at: 0).suffix(5_000)
        #expect(advice.allSatisfy { (1_000...SessionAdmission.retryAfterMaxMs).contains($0) })
        #expect(Set(advice).count == 60)
        // Once those slots have passed, the advice is short again.
        let later = count(3, &admission, at: 200_000)
        #expect(later.count == 2 && later.allSatisfy { $0 <= 3_000 })
    }
}
