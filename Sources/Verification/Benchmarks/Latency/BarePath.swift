import CBenchmarks
import Execution
import Glibc
import LocalServers
import QuerySQL

/// The path of `PathParts` with hiredis, libpq and two sockets only: the minimum for any live-query service. Calls
/// block and run one at a time, on their own threads.
final class BarePath: @unchecked Sendable {
    struct Times: Sendable {
        var hop = 0.0
        var read = 0.0
        var write = 0.0
        /// Two hops (event, result), one read, one write.
        var sum = 0.0
    }

    // Used by one call of `measure` at a time: the benchmark awaits each.
    private let path: OpaquePointer
    private let values: CTexts

    /// - Throws: `BenchmarkFailure` if a connection fails or the read has no row.
    init(_ servers: PrivateServers, _ call: QueryCall) throws {
        values = CTexts(call.parameters)
        let path = cbench_path_open(
            UInt16(servers.redis.port), "bench:bare", servers.postgres.connectionString, call.statement.single,
            values.pointers, UInt32(call.parameters.count))
        guard let path else { throw BenchmarkFailure("bare path: no connection") }
        self.path = path
    }

    deinit { cbench_path_close(path) }

    /// Measures the whole path once, one part after the other.
    /// - Throws: `BenchmarkFailure` if a connection is lost.
    func measure() async throws -> Times {
        let times = await onThread { self.walk() }
        guard let times else { throw BenchmarkFailure("bare path: a connection was lost") }
        return times
    }

    private func walk() -> Times? {
        var (event, read, result, write) = (0.0, 0.0, 0.0, 0.0)
        guard cbench_path_hop(path, &event) == 0, cbench_path_read(path, &read) == 0,
            cbench_path_hop(path, &result) == 0, cbench_path_write(path, &write) == 0
        else { return nil }
        return Times(hop: (event + result) / 2, read: read, write: write, sum: event + read + result + write)
    }
}
