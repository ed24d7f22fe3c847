package import Streams
/// How the identity of a Redis server is checked, and how ours is shown.
package struct RedisTLS: Sendable, Hashable {
    /// PEM file of the authorities to trust; nil: the system's.
    package var caFile: String?
    /// PEM files of our own certificate (with its chain) and key; nil: none is shown.
    package var certificateFile: String?
    package var keyFile: String?
    /// The name that the server's certificate must carry, also sent as SNI; nil: the host of its address. The IP address
    /// that was connected to is as good as the name.
    package var serverName: String?
    /// false: any certificate is accepted, so anybody on the way can read and change everything.
    package var isVerified = true

    package init() {}
}
