import Foundation

/// Checks that ports are free before anything is started, because a busy port is the most common mistake.
enum Ports {
    /// - Parameter remedy: the end of the error message: what to do about a busy port.
    static func requireFree(_ host: String, _ port: Int, remedy: String) {
        guard port != 0 else { return }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return }
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if bound != 0, errno == EADDRINUSE {
            Terminal.fail("port \(port) on \(host) is in use; \(remedy)")
        }
    }
}
