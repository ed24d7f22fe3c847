/// The way to verify a Redis server's identity, and the certificate to present.
package struct RedisTLS: Sendable, Hashable {
    /// PEM file of the trusted authorities; nil: the system's.
    package var caFile: String?
    /// PEM files of the client certificate (with its chain) and key; nil: none is presented.
    package var certificateFile: String?
    package var keyFile: String?
    /// The name that the server's certificate must carry, also sent as SNI; nil: the host of its address. A certificate
    /// for the connected IP address is accepted, too.
    package var serverName: String?
    /// False: any certificate is accepted, so an attacker on the path can read and change everything.
    package var isVerified = true

    package init() {}
}
