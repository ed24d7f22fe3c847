/// Bytes that many holders share up to a limit.
///
/// An address gets at most half of what the others leave free, so there is room for another one however much they hold.
struct SharedBytes: Sendable {
    private let bytesMax: Int
    private(set) var held = 0
    /// The bytes of each address that holds any.
    private(set) var heldByAddress: [String: Int] = [:]

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Whether the address may hold `bytes` more. A decrease is always allowed.
    /// - Parameter address: the holder's address; nil: only the limit of all holders together applies.
    func admits(_ bytes: Int, of address: String?) -> Bool {
        if bytes <= 0 { return true }
        guard bytes <= bytesMax - held else { return false }
        guard let address else { return true }
        let own = heldByAddress[address] ?? 0
        return own + bytes <= (bytesMax - (held - own)) / 2
    }

    mutating func add(_ bytes: Int, of address: String?) {
        held += bytes
        guard let address, bytes != 0 else { return }
        let own = (heldByAddress[address] ?? 0) + bytes
        precondition(own >= 0 && held >= own, "\(address) holds \(own) bytes of \(held)")
        heldByAddress[address] = own > 0 ? own : nil
    }
}
