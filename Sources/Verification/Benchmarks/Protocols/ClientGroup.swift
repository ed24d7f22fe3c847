import CBroadcaster

/// Thousands of clients of one protocol, in a process of their own. Fork it before anything has started threads.
package final class ClientGroup {
    private var process = cb_process()

    /// Results that have come, told by the wait before.
    private(set) var expected = 0
    private(set) var size = 0

    package init() throws {
        _ = cb_raise_descriptor_limit()
        try check(cb_crowd_fork(&process), "the crowd")
    }

    deinit { cb_stop(&process) }

    /// Everybody connects, does what the script says and gets a first result.
    func connect(_ script: ClientScript, count: Int, port: Int) throws {
        let bytes = script.bytes
        try check(cb_crowd_script(&process, bytes, bytes.count), "handing out the script")
        try check(cb_crowd_connect(&process, UInt16(port), UInt32(count)), "connecting")
        (size, expected) = (count, 0)
        try awaitResult()
    }

    /// Until everybody has one result more.
    func awaitResult() throws {
        expected += size
        try check(cb_crowd_wait(&process, UInt64(expected), 60_000), "waiting for a result")
    }

    func disconnect() throws {
        try check(cb_crowd_disconnect(&process), "disconnecting")
    }
}
