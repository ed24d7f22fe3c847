import InMemoryBroker
import LiveModel
import Synchronization
import Testing

@testable import Broker
import Streams

/// The implementations, and the ways to run Redis, that must pass the same suite.
enum BrokerKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, redis, cluster, tls

    var testDescription: String { rawValue }

    private static let made = Mutex(0)

    func make() throws -> BrokerFixture {
        let number = BrokerKind.made.withLock { made in
            made += 1
            return made
        }
        switch self {
        case .memory:
            let clock = TestClock()
            return try BrokerFixture(
                broker: MemoryBroker(keys: Keys(namespace: "suite-\(number)"), now: { clock.nowMs }), clock: clock)
        case .redis:
            return try BrokerFixture(broker: TestRedis.shared.get().broker("suite-\(number)"), clock: nil)
        case .cluster:
            return try BrokerFixture(broker: TestCluster.shared.get().broker("suite-\(number)"), clock: nil)
        case .tls:
            return try BrokerFixture(broker: TestRedis.withTLS.get().broker("suite-\(number)"), clock: nil)
        }
    }
}

final class TestClock: Sendable {
    private let ms = Mutex<UInt64>(1_000)

    var nowMs: UInt64 { ms.withLock { $0 } }
    func advance(_ byMs: Int) { ms.withLock { $0 += UInt64(byMs) } }
}

struct BrokerFixture {
    let broker: any Broker
    /// Nil: the broker's clock is the real one.
    let clock: TestClock?

    var keys: Keys { broker.keys }
    var events: String { keys.events(shard: 1) }
    var control: String { keys.control(shard: 1) }
    var lease: String { keys.lease(shard: 1) }

    /// A time to live that is not over before the next call, also on a busy machine.
    var shortMs: Int { clock == nil ? 3000 : 20 }

    /// Lets at least this much time pass on the broker's clock.
    func pass(ms: Int) async throws {
        if let clock { clock.advance(ms) } else { try await Task.sleep(for: .milliseconds(ms + 5)) }
    }

    /// Appends entries with field `n` = the number.
    @discardableResult
    func append(_ numbers: some Sequence<Int>, to stream: String) async throws -> [StreamID] {
        try await broker.append(numbers.map { StreamAppend(stream: stream, fields: [("n", Array(String($0).utf8))]) })
    }

    /// Reads until this many entries have come, signals aside.
    func read(_ count: Int, _ reader: any StreamReader, maxEntries: Int = 100) async throws -> [Int] {
        var numbers: [Int] = []
        while numbers.count < count {
            for batch in try await reader.next(maxEntries: maxEntries) { numbers += batch.numbers }
        }
        return numbers
    }

    /// Reads until there is something.
    func readSome(_ reader: any StreamReader, maxEntries: Int = 100) async throws -> [StreamBatch] {
        while true {
            let batches = try await reader.next(maxEntries: maxEntries)
            if !batches.isEmpty { return batches }
        }
    }
}

extension StreamBatch {
    var numbers: [Int] {
        entries.compactMap { $0["n"].flatMap { Int(String(decoding: $0, as: UTF8.self)) } }
    }
}

extension Broker {
    /// Asks under an epoch that is above all of this test run; nil when another owner holds the lease.
    func acquireLease(
        _ key: String, owner: String, ttlMs: Int, basis: String = ""
    ) async throws(BrokerError) -> LeaseGrant? {
        while true {
            let epoch = testEpoch.wrappingAdd(1, ordering: .relaxed).newValue
            let answer = try await requestLease(key, owner: owner, ttlMs: ttlMs, basis: basis, epoch: epoch)
            // Granted already, and asked again because the answer was lost.
            if case .outdated = answer { continue }
            return answer.grant
        }
    }
}

private let testEpoch = Atomic<UInt64>(0)

/// The code of the broker error that the body throws; nil when it throws none.
func errorCode(_ body: () async throws -> Void) async -> BrokerError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? BrokerError)?.code
    }
}
