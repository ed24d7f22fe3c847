import Glibc

/// The file operations that private servers need, with readable errors.
enum Files {
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    static func entries(_ folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Creates the folder and its parents.
    static func makeFolder(_ path: String, mode: mode_t) throws(LocalServerError) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            made += "/" + part
            if mkdir(made, made == path ? mode : 0o755) != 0, errno != EEXIST {
                throw LocalServerError(.dataFolderUnusable, "cannot create the folder \(made): \(reason())")
            }
        }
    }

    /// Returns the absolute path without links and dots; the folder must exist.
    static func absolute(_ path: String) throws(LocalServerError) -> String {
        guard let resolved = realpath(path, nil) else {
            throw LocalServerError(.dataFolderUnusable, "cannot enter the folder \(path): \(reason())")
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    static func owner(_ path: String) -> uid_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_uid : nil
    }

    static func remove(_ path: String) { unlink(path) }

    static func removeFolder(_ path: String) { rmdir(path) }

    static func read(_ path: String, bytesMax: Int = 1 << 16) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let size = Int(lseek(file, 0, SEEK_END))
        lseek(file, max(0, size - bytesMax), SEEK_SET)
        var bytes = [UInt8](repeating: 0, count: bytesMax)
        let count = Glibc.read(file, &bytes, bytesMax)
        return count < 0 ? nil : String(decoding: bytes[0..<count], as: UTF8.self)
    }

    static func write(_ path: String, _ text: String, mode: mode_t) throws(LocalServerError) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        let bytes = Array(text.utf8)
        let count = file < 0 ? -1 : Glibc.write(file, bytes, bytes.count)
        let problem = reason()
        if file >= 0 { close(file) }
        guard count == bytes.count else {
            throw LocalServerError(.dataFolderUnusable, "cannot write \(path): \(problem)")
        }
    }

    /// Returns the last lines of a log, for an error.
    static func tail(_ path: String, linesMax: Int = 20) -> [String] {
        (read(path) ?? "").split(whereSeparator: \.isNewline).suffix(linesMax).map(String.init)
    }

    /// Renames the log of the previous run; two runs are kept.
    static func rotateLog(_ path: String) { rename(path, path + ".1") }

    static func makeShortFolder() throws(LocalServerError) -> String {
        var template = Array("/tmp/freshet-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw LocalServerError(.dataFolderUnusable, "cannot create a folder for a socket in /tmp: \(reason())")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func reason() -> String { String(cString: strerror(errno)) }
}

/// A lock on a folder, held until it is released or the process ends in any way.
final class FolderLock: Sendable {
    private let file: Int32

    init(folder: String, program: String) throws(LocalServerError) {
        file = open(folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw LocalServerError(.dataFolderUnusable, "cannot write into the folder \(folder): \(Files.reason())")
        }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            close(file)
            throw LocalServerError(
                .alreadyRunning, "another process already runs a private \(program) in \(folder): stop it first")
        }
    }

    deinit {
        // Closing alone would leave the lock to a child that is being created and still has a copy of the descriptor.
        flock(file, LOCK_UN)
        close(file)
    }
}

/// Unix socket paths and free ports.
package enum Addresses {
    /// `sun_path` holds 108 bytes, including the final NUL.
    static let socketPathBytesMax = 107

    /// Returns a port that was free a moment ago. If another process takes it first, the server fails to start and gets
    /// another one.
    ///
    /// Avoids the kernel's ephemeral ports if possible: while a server is down, an outgoing connection could get its
    /// port, and a connection to that very port would be connected to itself.
    package static func freeLoopbackPort() -> Int? { freeLoopbackPorts(1).first }

    /// Returns several different ports, fewer if there are not enough. Each is held until the last one is found.
    package static func freeLoopbackPorts(_ count: Int) -> [Int] {
        var held: [Int32] = []
        defer { for descriptor in held { close(descriptor) } }
        var ports: [Int] = []
        for _ in 0..<count {
            guard let (descriptor, port) = bindBelowEphemeral() ?? bindLoopback(0) else { break }
            held.append(descriptor)
            ports.append(port)
        }
        return ports
    }

    static let portMin = 10_240
    static let triesMax = 50

    /// The first port that the kernel assigns to outgoing connections.
    static let firstEphemeralPort: Int = {
        let range = Files.read("/proc/sys/net/ipv4/ip_local_port_range")
        return range?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } ?? 0
    }()

    private static func bindBelowEphemeral() -> (descriptor: Int32, port: Int)? {
        guard firstEphemeralPort >= 2 * portMin else { return nil }
        for _ in 0..<triesMax {
            if let bound = bindLoopback(UInt16.random(in: UInt16(portMin)..<UInt16(firstEphemeralPort))) {
                return bound
            }
        }
        return nil
    }

    /// - Parameter port: 0 binds any port.
    private static func bindLoopback(_ port: UInt16) -> (descriptor: Int32, port: Int)? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        if isBound { return (descriptor, Int(UInt16(bigEndian: address.sin_port))) }
        close(descriptor)
        return nil
    }

    /// Sends a request to a Unix socket and returns the beginning of the response; waits at most 500 ms.
    static func exchange(socketPath: String, _ request: String) -> String? {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, socketPath.utf8.count <= socketPathBytesMax else { return nil }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 0, tv_usec: 500_000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(socketPath.utf8)) }
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected else { return nil }
        let bytes = Array(request.utf8)
        guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return nil }
        var answer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &answer, answer.count, 0)
        return count > 0 ? String(decoding: answer[0..<count], as: UTF8.self) : nil
    }
}
