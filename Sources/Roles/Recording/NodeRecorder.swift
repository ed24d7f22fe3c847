import Clocks
package import Inspection
package import JSON
package import LiveModel
import Synchronization

/// A node's recorder, which its roles share: what they notice goes into the rings of `Recorder`, and to open tails.
///
/// While nothing is recorded, roles only read `isOn`. Locking: the recorder changes under a mutex; sinks and listeners
/// are called after it is released.
package final class NodeRecorder: Sendable {
    /// Writes an entry of a tail. Called from any thread; must not block.
    package typealias Sink = @Sendable (TailEntry) -> Void

    package let node: NodeID
    package let settings: Recorder.Settings
    private let recorder: Mutex<Recorder>
    private let sinks = Mutex<[UInt64: Sink]>([:])
    private let onScope = Mutex<(@Sendable () -> Void)?>(nil)
    private let isRecording = Atomic<Bool>(false)
    private let isPublicationAwaited = Atomic<Bool>(false)
    private let export: (@Sendable ([Span]) -> Void)?

    /// - Parameter export: takes the spans of traced mutations as they are noted; called from any thread, must not
    ///   block. Nil: none.
    package init(
        node: NodeID, settings: Recorder.Settings = Recorder.Settings(), export: (@Sendable ([Span]) -> Void)? = nil
    ) {
        self.node = node
        self.export = export
        var settings = settings
        settings.exportsSpans = export != nil
        self.settings = settings
        recorder = Mutex(Recorder(settings))
    }

    /// Whether anything is recorded beyond traces that clients ask for.
    package var isOn: Bool { isRecording.load(ordering: .relaxed) }

    package var redaction: Redaction { recorder.withLock { $0.redaction } }

    /// Hides the names that the project's versions in service mark, besides those of the settings.
    package func redact(_ names: Set<String>) { change { $0.redact(names) } }

    /// Called when the worker is to notice more or less.
    package func onScopeChanged(_ listener: @escaping @Sendable () -> Void) {
        onScope.withLock { $0 = listener }
    }

    package var scope: ObservationScope { recorder.withLock { $0.scope } }

    /// Reads the state.
    package func read<Value: Sendable>(_ body: (borrowing Recorder) -> Value) -> Value {
        recorder.withLock { body($0) }
    }

    /// Microseconds since 1970.
    private static func nowUs() -> Int64 { WallClock.nowUs() }

    private func change<Value: Sendable>(_ body: (inout Recorder) -> Value) -> Value {
        let (value, isChanged) = recorder.withLock { recorder in
            let before = recorder.scope
            let value = body(&recorder)
            // Under the lock, so that the last change is the one that stays.
            isRecording.store(recorder.isOn, ordering: .relaxed)
            isPublicationAwaited.store(recorder.isTracing, ordering: .relaxed)
            let after = recorder.scope
            return (value, !before.isSame(as: after))
        }
        if isChanged { onScope.withLock { $0 }?() }
        exportSpans()
        return value
    }

    /// Hands over new spans, after the recorder is released.
    private func exportSpans() {
        guard let export else { return }
        let spans = recorder.withLock { $0.takeSpansToExport() }
        if !spans.isEmpty { export(spans) }
    }

    // MARK: Arming

    /// Records a live query for a time.
    package func arm(_ key: LiveQueryKey, nowMs: Int64) { change { $0.arm(key, nowMs: nowMs) } }

    package func sample(rate: Double, forMs: Int64, nowMs: Int64) {
        change { $0.sample(rate: rate, forMs: forMs, nowMs: nowMs) }
    }

    /// Records the worker's events and runs for a time.
    package func recordEvents(forMs: Int64, nowMs: Int64) { change { $0.recordEvents(forMs: forMs, nowMs: nowMs) } }

    package func stopEvents(nowMs: Int64) { change { $0.stopEvents(nowMs: nowMs) } }

    package func armFlight(of uid: String, forMs: Int64, nowMs: Int64) {
        change { $0.armFlight(of: uid, forMs: forMs, nowMs: nowMs) }
    }

    package func disarmFlight(of uid: String) { change { $0.disarmFlight(of: uid) } }

    package func disarm() { change { $0.disarm() } }

    /// Ends what has had its time; called now and then.
    package func expire(nowMs: Int64) { if isOn { change { $0.expire(nowMs: nowMs) } } }

    // MARK: What roles notice

    package func observed(_ observations: [WorkerObservation], dropped: Int) {
        let nowUs = Self.nowUs()
        let entries = recorder.withLock { recorder in
            if dropped > 0 { recorder.observationsDropped(dropped, nowMs: nowUs / 1_000) }
            return observations.flatMap { recorder.observed($0, on: node, nowUs: nowUs) }
        }
        exportSpans()
        for entry in entries { tell(entry) }
    }

    /// Decides whether a mutation that begins now is traced.
    package func traces(isWanted: Bool, nowMs: Int64) -> Bool {
        guard isWanted || isOn else { return false }
        return recorder.withLock { $0.traces(isWanted: isWanted, random: Double.random(in: 0..<1), nowMs: nowMs) }
    }

    /// - Parameter parentSpan: the client's span, if it sent one.
    package func received(_ trace: String, _ mutation: OperationReference, parentSpan: String?) {
        add(.received(trace, mutation, parentSpan: parentSpan, on: node, nowUs: Self.nowUs()))
    }

    package func failed(_ trace: String, _ error: RequestError) {
        add(.failed(trace, error, on: node, nowUs: Self.nowUs()))
    }

    /// - Parameter event: nil if the mutation refreshes nothing.
    package func committed(_ trace: String, _ mutation: OperationReference, event: String?, committedAtMs: Int64) {
        let nowUs = Self.nowUs()
        let span = Span.committed(
            trace, mutation, event: event ?? "", committedAtMs: committedAtMs, on: node, nowUs: nowUs)
        change { recorder in
            recorder.add(span)
            if let event { recorder.awaitPublication(of: event, trace: trace, nowUs: nowUs) }
        }
    }

    /// Whether the publication of a traced event is awaited.
    package var awaitsPublication: Bool { isPublicationAwaited.load(ordering: .relaxed) }

    package func published(_ event: String, to shards: [ShardID]) {
        let nowUs = Self.nowUs()
        change { $0.published(event, to: shards, on: node, nowUs: nowUs) }
    }

    package func arrived(_ result: LiveResult, _ key: LiveQueryKey) {
        add(.arrived(result, key, on: node, nowUs: Self.nowUs()))
    }

    private func add(_ span: Span) {
        recorder.withLock { $0.add(span) }
        exportSpans()
    }

    /// A session that got a result.
    package struct Receiver: Sendable {
        package let session: UInt64
        package let uid: String
        /// Whether the client does not read, so that the result waits.
        package let isBehind: Bool

        package init(session: UInt64, uid: String, isBehind: Bool) {
            self.session = session
            self.uid = uid
            self.isBehind = isBehind
        }
    }

    /// Notes that a result was handed to sessions.
    package func delivered(
        _ result: LiveResult, _ key: LiveQueryKey, of operation: OperationReference?, to receivers: [Receiver]
    ) {
        let nowUs = Self.nowUs()
        if result.isTraced {
            add(
                .delivered(
                    result.traceID, key, sessions: receivers.map { name($0.session) }, count: receivers.count,
                    held: receivers.count { $0.isBehind }, on: node, nowUs: nowUs))
        }
        guard isOn else { return }
        recorder.withLock { recorder in
            guard recorder.hasFlights else { return }
            for receiver in receivers where recorder.hasFlight(of: receiver.uid) {
                recorder.add(
                    FlightEntry(
                        atMs: nowUs / 1_000, .delivered, session: name(receiver.session),
                        operation: operation?.description ?? "", count: 1, bytes: result.answer.byteCount),
                    of: receiver.uid)
            }
        }
        for receiver in receivers {
            tell(
                .delivery(
                    result, key, operation, session: name(receiver.session), uid: receiver.uid,
                    isHeld: receiver.isBehind, on: node, nowMs: nowUs / 1_000))
        }
    }

    /// The reason of subscriptions that their clients ended.
    package static let left = "left"

    /// Notes that a suspended session goes on.
    package func resumed(_ session: UInt64) { recorder.withLock { $0.endedSessions.resumed(name(session)) } }

    /// Notes that a session began to follow a live query, or left it. To be called while `isOn`, and whenever the node
    /// ends or suspends a subscription.
    package func session(
        _ session: UInt64, uid: String, _ key: LiveQueryKey, of operation: OperationReference?, leaves reason: String?
    ) {
        let nowMs = Self.nowUs() / 1_000
        if let reason {
            let end = EndRecord(session: name(session), uid: uid, reason: reason, atMs: nowMs)
            recorder.withLock { recorder in
                recorder.ended(end, of: key)
                if reason != Self.left { recorder.endedSessions.ended(end.session, reason: reason, atMs: nowMs) }
            }
        }
        guard isOn else { return }
        flight(
            of: uid, reason == nil ? .followed : .left, session, operation: operation?.description ?? "",
            reason.map { ["reason": .string($0)] } ?? [:])
        tell(.session(name(session), uid: uid, key, operation, leaves: reason, on: node, nowMs: nowMs))
    }

    /// Notes what happened to a session, if its user has a flight recorder.
    package func flight(
        of uid: String, _ kind: FlightEntry.Kind, _ session: UInt64, operation: String = "",
        _ details: @autoclosure () -> JSONObject = [:]
    ) {
        guard isOn else { return }
        let nowMs = Self.nowUs() / 1_000
        recorder.withLock { recorder in
            guard recorder.hasFlight(of: uid) else { return }
            recorder.add(
                FlightEntry(
                    atMs: nowMs, kind, session: name(session), operation: operation, details: details()), of: uid)
        }
    }

    /// `NODE/ID`
    package func name(_ session: UInt64) -> String { "\(node)/\(session)" }

    // MARK: Tails

    /// - Returns: the number of the tail; nil if there are as many as may be.
    package func openTail(_ filter: TailFilter, _ sink: @escaping Sink) -> UInt64? {
        guard let number = change({ $0.openTail(filter) }) else { return nil }
        sinks.withLock { $0[number] = sink }
        return number
    }

    package func closeTail(_ number: UInt64) {
        _ = sinks.withLock { $0.removeValue(forKey: number) }
        change { $0.closeTail(number) }
    }

    private func tell(_ entry: TailEntry) {
        let numbers = recorder.withLock { $0.tails(for: entry) }
        if numbers.isEmpty { return }
        let sinks = sinks.withLock { sinks in numbers.compactMap { sinks[$0] } }
        for sink in sinks { sink(entry) }
    }
}
