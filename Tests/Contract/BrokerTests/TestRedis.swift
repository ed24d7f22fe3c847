import Glibc
import LiveModel
import Logging
import Synchronization
import TestSupport

@testable import Broker
import Streams

/// A private redis-server on a Unix socket in a temporary folder, or on a free port of 127.0.0.1. A shell holds it by a
/// pipe: when this process ends, however, the pipe closes and the server is killed.
final class TestRedis: Sendable {
    private struct Running {
        let shell: pid_t
        let server: pid_t
        let pipeEnd: Int32
    }

    enum Port: Sendable {
        case none
        /// A node of a cluster.
        case cluster
        /// TLS only, with certificates in the folder (`TestCertificates`); clients must show one too if asked to.
        case tls(asksClients: Bool, certificate: String = "server")
    }

    private let folder: TemporaryFolder
    var directory: String { folder.path }
    /// 0: Unix socket only.
    let port: Int
    private let kind: Port
    private let options: [String]
    private let running = Mutex<Running?>(nil)

    /// The server of tests that leave it as it is; every test has a namespace of its own.
    static let shared = Result { try TestRedis() }
    /// The same, by TLS; it asks for no client certificate.
    static let withTLS = Result { try TestRedis(port: .tls(asksClients: false)) }

    struct StartError: Error {}

    init(options: [String] = ["--appendonly", "no"], isStarted: Bool = true, port: Port = .none) throws {
        folder = try TemporaryFolder()
        kind = port
        switch port {
        case .none:
            self.port = 0
            self.options = options
        case .cluster:
            self.port = try TestRedis.freePort(withBus: true)
            self.options =
                options + [
                    "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-config-file", "nodes.conf",
                    "--cluster-port", String(self.port + 1), "--bind", "127.0.0.1", "--port", String(self.port),
                ]
        case .tls(let asksClients, let certificate):
            let certificates = try TestCertificates(
                directory: folder.path,
                leaves: [
                    "server": "IP:127.0.0.1,DNS:redis.test", "named": "DNS:redis.test", "client": "DNS:client.test",
                ])
            self.port = try TestRedis.freePort(withBus: false)
            self.options =
                options + [
                    "--tls-port", String(self.port), "--bind", "127.0.0.1", "--tls-cert-file",
                    certificates.path("\(certificate).crt"), "--tls-key-file", certificates.path("\(certificate).key"),
                    "--tls-ca-cert-file", certificates.path("ca.crt"), "--tls-auth-clients",
                    asksClients ? "yes" : "no",
                ]
        }
        if isStarted { try start() }
    }

    deinit {
        kill()
        folder.remove()
    }

    var socketPath: String { directory + "/socket" }

    var endpoint: RedisConfiguration.Endpoint {
        port == 0 ? .unixSocket(path: socketPath) : .tcp(host: "127.0.0.1", port: port)
    }

    /// A port and, for the bus of a cluster, the one after it, both free a moment ago.
    private static func freePort(withBus: Bool) throws -> Int {
        func isFree(_ port: Int) -> Int? {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            return withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                    bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
                } ? Int(UInt16(bigEndian: pointer.pointee.sin_port)) : nil
            }
        }
        for _ in 0..<100 {
            if let port = isFree(0), port < 65_000, !withBus || isFree(port + 1) != nil { return port }
        }
        throw StartError()
    }

    var configuration: RedisConfiguration {
        var configuration = RedisConfiguration(endpoint: endpoint)
        if case .tls = kind {
            configuration.tls = RedisTLS()
            configuration.tls?.caFile = directory + "/ca.crt"
        }
        configuration.readBlockMs = 60_000
        configuration.commandTimeoutMs = 20_000
        return configuration
    }

    func start() throws {
        let script = """
            redis-server --port 0 --unixsocket "$0/socket" --dir "$0" --save "" --daemonize no "$@" >"$0/log" 2>&1 \
            </dev/null &
            echo $!
            read ignored
            kill -9 $! 2>/dev/null
            rm -rf "$0"
            """
        var input: [Int32] = [0, 0]
        var output: [Int32] = [0, 0]
        guard pipe(&input) == 0, pipe(&output) == 0 else { throw StartError() }
        for fd in input + output { _ = fcntl(fd, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        posix_spawn_file_actions_adddup2(&actions, output[1], 1)
        var arguments = (["/bin/sh", "-c", script, directory] + options).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var shell = pid_t()
        guard posix_spawn(&shell, "/bin/sh", &actions, nil, &arguments, environ) == 0 else { throw StartError() }
        close(input[0])
        close(output[1])
        var text: [UInt8] = []
        var byte: UInt8 = 0
        while read(output[0], &byte, 1) == 1, byte != UInt8(ascii: "\n") { text.append(byte) }
        close(output[0])
        guard let server = pid_t(String(decoding: text, as: UTF8.self)) else { throw StartError() }
        running.withLock { $0 = Running(shell: shell, server: server, pipeEnd: input[1]) }
    }

    /// `kill -9`; the data folder stays. Returns when the process is gone.
    func kill() {
        guard let running = running.withLock({ $0.take() }) else { return }
        Glibc.kill(running.server, SIGKILL)
        Glibc.kill(running.shell, SIGKILL)
        close(running.pipeEnd)
        waitpid(running.shell, nil, 0)
        while Glibc.kill(running.server, 0) == 0 { usleep(1000) }
        unlink(socketPath)
    }

    func signal(_ number: Int32) {
        if let server = running.withLock({ $0?.server }) { Glibc.kill(server, number) }
    }

    func removeData() {
        for name in ["appendonlydir", ""] {
            let path = directory + "/" + name
            guard let folder = opendir(path) else { continue }
            while let entry = readdir(folder) {
                let file = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                if file != ".", file != "..", file != "appendonlydir" { unlink(path + "/" + file) }
            }
            closedir(folder)
            if name != "" { rmdir(path) }
        }
    }

    /// A command outside of the broker, as an operator would give it.
    func command(_ arguments: String...) throws -> RedisValue {
        var configuration = configuration
        configuration.tls = nil
        var isCluster = false
        if case .cluster = kind { isCluster = true }
        func open() -> RedisConnection? {
            try? RedisConnection(
                configuration, at: .unixSocket(path: socketPath), for: isCluster ? .clusterNode : .primary,
                name: "operator")
        }
        var opened = open()
        for _ in 0..<1000 where opened == nil {  // it may be starting
            usleep(5000)
            opened = open()
        }
        guard let connection = opened else { throw StartError() }
        var commands = CommandBuffer()
        commands.add(arguments)
        return try connection.call(commands)[0]
    }

    /// The same on a replica, which the broker's own handshake refuses.
    func commandOnReplica(_ arguments: String...) throws {
        let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard fd >= 0 else { throw StartError() }
        defer { close(fd) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw StartError() }
        var commands = CommandBuffer()
        commands.add(arguments)
        var byte: UInt8 = 0
        guard write(fd, commands.bytes, commands.bytes.count) == commands.bytes.count, read(fd, &byte, 1) == 1,
            byte == UInt8(ascii: "+")
        else { throw StartError() }
    }

    func broker(
        _ namespace: String = "test",
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        change: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> RedisBroker {
        var configuration = configuration
        change(&configuration)
        return try RedisBroker(
            configuration, keys: Keys(namespace: namespace), name: "test", logger: logger)
    }
}
