import CBroadcaster

/// A group of thousands of clients of one protocol, in its own process. Create it before anything starts threads,
/// because it forks.
package final class ClientGroup {
    private var process = cb_process()

    /// The results expected so far.
    private(set) var expected = 0
    private(set) var size = 0

    package init() throws {
        _ = cb_raise_descriptor_limit()
        try check(cb_group_fork(&process), "the client group")
    }

    deinit { cb_stop(&process) }

    /// Connects all clients, runs the script and waits for a first result each.
    func connect(_ script: ClientScript, count: Int, port: Int) throws {
        let bytes = script.bytes
        try check(cb_group_script(&process, bytes, bytes.count), "sending the script")
        try check(cb_group_connect(&process, UInt16(port), UInt32(count)), "connecting")
        (size, expected) = (count, 0)
        try awaitResult()
    }

    /// Waits until every client has one more result.
    func awaitResult() throws {
        expected += size
        try check(cb_group_wait(&process, UInt64(expected), 60_000), "waiting for a result")
    }

    func disconnect() throws {
        try check(cb_group_disconnect(&process), "disconnecting")
    }
}
