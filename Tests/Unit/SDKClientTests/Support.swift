import AuctionsClient
import Foundation
import FreshetClient
import FreshetTesting
import TestSupport

/// A clock that goes forward when the test says so.
final class ManualTime: EngineTime, @unchecked Sendable {
    // Every access to the state holds `lock`.
    private let lock = NSLock()
    private var ms: Int64 = 1_000_000
    private var lastID = 0
    private var sleepers: [Int: (untilMs: Int64, continuation: CheckedContinuation<Void, Never>)] = [:]
    private var cancelled: Set<Int> = []

    var nowMs: Int64 { lock.withLock { ms } }
    var wallMs: Int64 { 1_700_000_000_000 + nowMs }

    func sleep(untilMs: Int64) async {
        let id = lock.withLock {
            lastID += 1
            return lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = lock.withLock {
                    if ms >= untilMs || cancelled.remove(id) != nil { return true }
                    sleepers[id] = (untilMs, continuation)
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            let continuation = lock.withLock {
                let sleeper = sleepers.removeValue(forKey: id)
                if sleeper == nil { cancelled.insert(id) }
                return sleeper?.continuation
            }
            continuation?.resume()
        }
    }

    func advance(_ byMs: Int64) {
        let due = lock.withLock {
            ms += byMs
            let due = sleepers.filter { $0.value.untilMs <= ms }
            for id in due.keys { sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }
}

/// A user who signs in and out.
final class TestUser: @unchecked Sendable {
    // Every access to the state holds `lock`.
    private let lock = NSLock()
    private var name: String?
    private var count = 0

    init(_ name: String?) { self.name = name }

    func become(_ name: String?) { lock.withLock { self.name = name } }

    /// How often the SDK asked for a token.
    var asked: Int { lock.withLock { count } }

    var auth: AuthSource {
        .provider(
            user: { [self] in lock.withLock { name } },
            token: { [self] in
                lock.withLock {
                    count += 1
                    return name.map { "\($0)-\(count)" }
                }
            })
    }
}

extension ScriptedServer {
    func auctions(
        cache: CacheSettings = .memory(), auth: AuthSource = .none, time: any EngineTime = SystemTime(),
        options: ConnectorOptions = ConnectorOptions()
    ) -> AuctionsConnector {
        AuctionsConnector(
            link: link(AuctionsConnector.identity, cache: cache, auth: auth, options: options, time: time))
    }

    /// Sets the list of lots: ids by number, and prices.
    func setLots(_ prices: KeyValuePairs<Int, Int64?>) {
        set(ListLots.self, to: ["lots": AnyValue(prices.map { lot($0, $1) })])
    }

    func lot(_ number: Int, _ price: Int64?) -> AnyValue {
        [
            "id": AnyValue(lotID(number)), "title": AnyValue("Lot \(number)"), "category": "Clocks",
            "description": nil, "highestBid": price.map { AnyValue(Int($0)) } ?? nil,
            "closesAt": "2026-12-01T12:00:00.000000Z",
        ]
    }
}

func lotID(_ number: Int) -> UUID {
    UUID(
        uuidString: "00000000-0000-0000-0000-" + String(repeating: "0", count: 12 - String(number).count) + "\(number)")
        ?? UUID()
}

/// Reads states until one fits. Bounded by the test's time limit.
func state<Operation: QueryOperation>(
    _ states: inout LiveResults<Operation>.Iterator,
    where fits: (LiveResult<Operation.Data>) -> Bool
) async throws -> LiveResult<Operation.Data> {
    while let state = try await states.next() {
        if fits(state) { return state }
    }
    throw NoFurtherState()
}

struct NoFurtherState: Error {}

/// A folder for the files of a connector, gone after the test.
func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    try await body(folder.path)
}
