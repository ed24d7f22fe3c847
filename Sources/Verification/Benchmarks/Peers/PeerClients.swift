import CBroadcaster

/// Thousands of subscribers, some publishers, and the bare C server, each in its own process. Create it before anything
/// starts threads, because it forks.
package final class PeerClients {
    private var subscribers = cb_process()
    private var publishers = cb_process()
    private var bare = cb_process()
    private var keyCount = 0
    private var templateCount = 0
    private var bareSequence: UInt32 = 0
    /// The port of the bare C server.
    private(set) var barePort: UInt16 = 0

    package init() throws {
        _ = cb_raise_descriptor_limit()
        let frame = PeerMessage.frame(PeerMessage.placeholder)
        try check(cb_subscribers_fork(&subscribers), "the subscribers")
        try check(cb_publishers_fork(&publishers), "the publishers")
        try check(cb_server_fork(&bare, frame, frame.count, &barePort), "the bare server")
    }

    deinit {
        cb_stop(&subscribers)
        cb_stop(&publishers)
        cb_stop(&bare)
    }

    var bareProcess: Int32 { bare.pid }

    // MARK: Publishers

    func connectPublishers(_ script: [UInt8], templates: Int, port: Int, count: Int) throws {
        templateCount = templates
        try check(cb_publishers_script(&publishers, script, script.count), "sending the publishers' script")
        try check(cb_publishers_connect(&publishers, UInt16(port), UInt32(count)), "connecting the publishers")
    }

    /// Publishes the first template.
    /// - Returns: its number, and the seconds until the response.
    func publish() throws -> (sequence: UInt32, seconds: Double) {
        var sequence: UInt32 = 0
        var microseconds: UInt64 = 0
        try check(cb_publishers_publish(&publishers, 0, &sequence, &microseconds), "publishing")
        return (sequence, Double(microseconds) / 1e6)
    }

    /// The bare C server sends its frame.
    func publishBare() throws -> (sequence: UInt32, seconds: Double) {
        let start = Clock.now
        bareSequence += 1
        try check(cb_server_publish(&bare, bareSequence), "publishing")
        return (bareSequence, Clock.now - start)
    }

    /// Publishes as fast as the publishers can; 0 seconds: each template once.
    func publish(seconds: Double) throws -> (published: Int, refused: Int) {
        var published: UInt64 = 0
        var refused: UInt32 = 0
        try check(cb_publishers_run(&publishers, UInt32(seconds * 1000), &published, &refused), "publishing")
        return (Int(published), Int(refused))
    }

    /// Returns the number of the last result of each template.
    func published() throws -> [UInt32] {
        var sequences = [UInt32](repeating: 0, count: templateCount)
        try check(cb_publishers_sequences(&publishers, &sequences, UInt32(templateCount)), "asking the publishers")
        return sequences
    }

    // MARK: Subscribers

    func connectSubscribers(_ script: [UInt8], keys: Int, port: Int, count: Int, perSecond: Int) throws {
        keyCount = keys
        try check(cb_subscribers_script(&subscribers, script, script.count), "sending the subscribers' script")
        let isBare = port == Int(barePort)
        if isBare { try check(cb_server_accept(&bare, UInt32(count)), "the bare server") }
        try check(
            cb_subscribers_connect(&subscribers, UInt16(port), UInt32(count), UInt32(perSecond)),
            "connecting the subscribers")
        if isBare { try check(cb_server_accepted(&bare), "the bare server") }
    }

    /// Waits until every subscriber has the result with this number.
    func awaitAll(_ sequence: UInt32, timeoutMs: Int = 60_000) throws {
        try awaitAll([UInt32](repeating: sequence, count: keyCount), timeoutMs: timeoutMs)
    }

    /// Waits until every subscriber has the result with the number of its key.
    func awaitAll(_ sequences: [UInt32], timeoutMs: Int = 60_000) throws {
        precondition(sequences.count == keyCount, "one number for each key")
        var behind: UInt32 = 0
        try check(
            cb_subscribers_wait(&subscribers, sequences, UInt32(keyCount), UInt32(timeoutMs), &behind),
            "waiting for results")
        guard behind == 0 else {
            let lost = try received().lost
            throw BenchmarkFailure(
                "\(behind) subscribers did not get the last result within \(timeoutMs / 1_000) s,"
                    + " \(lost) connections lost")
        }
    }

    func beginCounting() throws { try check(cb_subscribers_begin(&subscribers), "counting") }

    func received() throws -> cb_received {
        var received = cb_received()
        try check(cb_subscribers_received(&subscribers, &received), "asking the subscribers")
        return received
    }

    func disconnectSubscribers() throws {
        try check(cb_subscribers_disconnect(&subscribers), "disconnecting")
    }
}
