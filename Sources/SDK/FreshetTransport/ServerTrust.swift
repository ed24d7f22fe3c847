/// The servers whose certificates a link accepts.
public enum ServerTrust: Sendable, Hashable {
    /// Servers with certificates of authorities that the system trusts.
    case system
    #if !canImport(Darwin)
        /// Servers with certificates of the authorities in a PEM file. On Apple's systems, install the authority on
        /// the device, or pass a `URLSession` whose delegate decides (`URLSessionTransport.init(_:session:)`).
        case authorities(file: String)
    #endif
}
