/// The subjects of limits per address.
///
/// A client with an IPv6 address usually has the whole network around it, and could give each connection another
/// address. So the subject of an IPv6 address is its network. An IPv4 address, also a mapped one, is the subject.
package struct ClientAddresses: Sendable, Hashable {
    /// Proxies whose `X-Forwarded-For` names the client.
    package var proxies = AddressSet()
    /// Addresses without limits: those of the machine itself and of test drivers, which stand for many clients.
    package var uncounted = AddressSet(["127.0.0.0/8", "::1"]) ?? AddressSet()
    /// The leading bits of an IPv6 address that name its network.
    package var ipv6PrefixBits = 64

    package init() {}

    /// Returns the subject of an address. One without limits stays as it is, and so does a text that is no address.
    package func subject(of address: String) -> String {
        guard address.utf8.contains(UInt8(ascii: ":")), let bytes = IPAddressBytes.parse(address),
            !uncounted.contains(bytes)
        else { return address }
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        return network(of: bytes)
    }

    private func network(of bytes: [UInt8]) -> String {
        let bits = min(128, max(1, ipv6PrefixBits))
        let groups = (0..<(bits + 15) / 16).map { index in
            let group = UInt16(bytes[2 * index]) << 8 | UInt16(bytes[2 * index + 1])
            let kept = min(16, bits - 16 * index)
            return String(group & UInt16.max << UInt16(16 - kept), radix: 16)
        }
        let text = groups.joined(separator: ":")
        return bits == 128 ? text : text + (groups.count < 8 ? "::" : "") + "/\(bits)"
    }

    /// Returns the subject of the client that sends a request.
    /// - Parameter forwarded: the header `X-Forwarded-For`, several joined by commas.
    package func client(peer: String, forwarded: String?) -> String {
        subject(of: proxies.client(peer: peer, forwarded: forwarded))
    }

    /// Returns the subject whose limits a request counts against; nil: it has none.
    package func countedClient(peer: String, forwarded: String?) -> String? {
        let client = proxies.client(peer: peer, forwarded: forwarded)
        return uncounted.contains(client) ? nil : subject(of: client)
    }

    /// Returns the subject whose limits a connection counts against; nil: it has none, or carries those of others.
    package func countedPeer(_ peer: String) -> String? {
        uncounted.contains(peer) || proxies.contains(peer) ? nil : subject(of: peer)
    }
}
