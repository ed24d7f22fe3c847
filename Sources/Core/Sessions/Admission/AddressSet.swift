/// A set of IP addresses, given as addresses and networks.
package struct AddressSet: Sendable, Hashable {
    private struct Network: Sendable, Hashable {
        let bytes: [UInt8]
        let bits: Int
    }

    /// An IPv4 network, for comparison without arrays: every request asks.
    private struct FourNetwork: Sendable, Hashable {
        let value: UInt32
        let mask: UInt32

        init(_ network: Network) {
            mask = network.bits == 0 ? 0 : UInt32.max << UInt32(32 - network.bits)
            value = network.bytes.reduce(0) { $0 << 8 | UInt32($1) } & mask
        }
    }

    private let networks: [Network]
    private let fours: [FourNetwork]

    package init() { (networks, fours) = ([], []) }

    /// - Parameter texts: addresses or networks, `10.0.0.0/8`, `fd00::/8`. Nil if one of them is neither.
    package init?(_ texts: [String]) {
        var networks: [Network] = []
        for text in texts {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let bytes = IPAddressBytes.parse(parts[0]) else { return nil }
            var bits = bytes.count * 8
            if parts.count == 2 {
                guard let number = Int(parts[1]), (0...bits).contains(number) else { return nil }
                bits = number
            }
            networks.append(Network(bytes: bytes, bits: bits))
        }
        self.networks = networks
        fours = networks.filter { $0.bytes.count == 4 }.map(FourNetwork.init)
    }

    package func contains(_ address: some StringProtocol) -> Bool {
        if networks.isEmpty { return false }
        if let four = IPAddressBytes.four(address) {
            return fours.contains { four & $0.mask == $0.value }
        }
        // The name of a network (`ClientAddresses`) is no address; this saves the parser.
        if address.utf8.contains(UInt8(ascii: "/")) { return false }
        guard let bytes = IPAddressBytes.parse(address) else { return false }
        return contains(bytes)
    }

    func contains(_ bytes: [UInt8]) -> Bool {
        networks.contains { network in
            guard network.bytes.count == bytes.count else { return false }
            for index in 0..<bytes.count {
                let bits = min(8, max(0, network.bits - index * 8))
                let mask = UInt8(truncatingIfNeeded: 0xFF00 >> bits)
                if bytes[index] & mask != network.bytes[index] & mask { return false }
            }
            return true
        }
    }
}

extension AddressSet {
    /// Returns the address of a client behind the proxies of this set, whose `X-Forwarded-For` is trusted.
    ///
    /// Behind a proxy, all clients have its address. A trusted proxy says in `X-Forwarded-For` from whom it received
    /// the request; entries further left come from others and may be forged. So the list is read from the right, and
    /// the first address that is not a trusted proxy is the client's.
    /// - Parameters:
    ///   - peer: the other end of the connection.
    ///   - forwarded: the header `X-Forwarded-For`, several joined by commas.
    package func client(peer: String, forwarded: String?) -> String {
        guard let forwarded, contains(peer) else { return peer }
        var client = peer
        for item in forwarded.split(separator: ",").reversed() {
            let address = item.drop { $0 == " " }.prefix { $0 != " " }
            guard IPAddressBytes.parse(address) != nil else { return client }
            client = String(address)
            if !contains(address) { return client }
        }
        return client
    }
}

/// An address's bytes, 4 or 16. Source: RFC 4291 §2.2.
enum IPAddressBytes {
    static func parse(_ text: some StringProtocol) -> [UInt8]? {
        if text.contains(":") { return six(String(text)) }
        return four(text).map { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * $0)) } }
    }

    /// Returns an IPv4 address as a number; nil for anything else.
    static func four(_ text: some StringProtocol) -> UInt32? {
        var (address, part, digits, dots): (UInt32, UInt32, Int, Int) = (0, 0, 0, 0)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                // Without leading zeros, which some read as octal.
                if digits > 0, part == 0 { return nil }
                part = part * 10 + UInt32(byte - UInt8(ascii: "0"))
                digits += 1
                if part > 255 { return nil }
            case UInt8(ascii: ".") where digits > 0 && dots < 3:
                (address, part, digits, dots) = (address << 8 | part, 0, 0, dots + 1)
            default: return nil
            }
        }
        return digits > 0 && dots == 3 ? address << 8 | part : nil
    }

    private static func six(_ text: String) -> [UInt8]? {
        // Not split at each separator: "::" occurs once.
        let halves = text.split(separator: "::", omittingEmptySubsequences: false)
        guard halves.count <= 2 else { return nil }
        var groups: [[UInt8]] = []
        for half in halves {
            var bytes: [UInt8] = []
            for part in half.isEmpty ? [] : half.split(separator: ":", omittingEmptySubsequences: false) {
                if part.contains(".") {
                    guard let four = parse(part) else { return nil }
                    bytes += four
                    continue
                }
                guard (1...4).contains(part.utf8.count), let group = UInt16(part, radix: 16) else { return nil }
                bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
            }
            groups.append(bytes)
        }
        let count = groups.reduce(0) { $0 + $1.count }
        guard groups.count == 2 ? count <= 14 : count == 16 else { return nil }
        let whole =
            groups.count == 2 ? groups[0] + [UInt8](repeating: 0, count: 16 - count) + groups[1] : groups[0]
        // An IPv4 peer on a dual-stack socket (RFC 4291 §2.5.5.2).
        if whole.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] { return Array(whole.suffix(4)) }
        return whole
    }
}
