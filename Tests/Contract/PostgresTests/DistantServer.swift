import Glibc
import TestSupport

/// A socket in a folder of its own behind which a server seems to be far away: every byte takes `delayMs` each way.
/// Threads end with their connections, and the one that accepts with the process; there are few.
struct DistantServer {
    private let folder: TemporaryFolder
    /// The text to append to the connection string of the server.
    var address: String { "host=\(folder.path)" }

    /// - Parameter directory: of the server's socket.
    init(directory: String, delayMs: Int) throws {
        folder = try TemporaryFolder()
        let name = "/.s.PGSQL.5432"
        let listener = Self.socket(folder.path + name) { bind($0, $1, $2) }
        guard listener >= 0, listen(listener, 64) == 0 else { throw CannotListen() }
        Self.thread {
            while case let client = accept(listener, nil, nil), client >= 0 {
                let server = Self.socket(directory + name) { connect($0, $1, $2) }
                Self.thread { Self.carry(from: client, to: server, delayMs) }
                Self.thread { Self.carry(from: server, to: client, delayMs) }
            }
        }
    }

    private struct CannotListen: Error {}

    func remove() { folder.remove() }

    private static func thread(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let box = Unmanaged.passRetained(Body(run: body)).toOpaque()
        pthread_create(
            &thread, nil,
            {
                Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run(); return nil
            }, box)
        pthread_detach(thread)
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private static func socket(
        _ path: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return result == 0 ? descriptor : -1
    }

    private static func carry(from source: Int32, to target: Int32, _ delayMs: Int) {
        var underWay: [(dueMs: Int, bytes: [UInt8])] = []
        var isOpen = true
        while isOpen || !underWay.isEmpty {
            let waitMs = underWay.first.map { max(0, $0.dueMs - nowMs()) } ?? -1
            var descriptor = pollfd(fd: isOpen ? source : -1, events: Int16(POLLIN), revents: 0)
            if poll(&descriptor, 1, Int32(waitMs)) > 0 {
                var bytes = [UInt8](repeating: 0, count: 65_536)
                let count = read(source, &bytes, bytes.count)
                isOpen = count > 0
                if isOpen { underWay.append((nowMs() + delayMs, Array(bytes.prefix(count)))) }
            }
            while let first = underWay.first, first.dueMs <= nowMs() {
                underWay.removeFirst()
                if send(target, first.bytes, first.bytes.count, Int32(MSG_NOSIGNAL)) < 0 { isOpen = false }
            }
        }
        shutdown(target, Int32(SHUT_WR))
    }

    private static func nowMs() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
    }
}
