package import LiveModel

/// The result last sent to a subscription's client, if it requested deltas.
package enum DeltaState: Sendable, Hashable {
    case off
    /// Nil if no patch can start from it.
    case on(held: Digest?)

    package init(_ isWanted: Bool, held: Digest?) {
        self = isWanted ? .on(held: held) : .off
    }

    package var isOn: Bool {
        switch self {
        case .off: false
        case .on: true
        }
    }

    /// Notes that the client gets this result.
    /// - Returns: the result that a patch may start from; nil to send the whole result.
    package mutating func advance(to digest: Digest) -> Digest? {
        guard case .on(let held) = self else { return nil }
        self = .on(held: digest)
        return held
    }

    /// Notes that the client gets an error. It may replace its result by that, so the next result is sent whole.
    package mutating func failed() {
        if isOn { self = .on(held: nil) }
    }
}
