package import LiveModel

/// The result that a client held when it subscribed, if it requested resume tags.
package enum ResumeState: Sendable, Hashable {
    /// It requested no tags.
    case off
    /// Nil once it got something, or if it held nothing.
    case on(held: Digest?)

    package init(_ wantsTags: Bool, held: Digest?) {
        self = wantsTags ? .on(held: held) : .off
    }

    package var isOn: Bool { if case .on = self { true } else { false } }

    /// Notes that the client gets this result.
    /// - Returns: whether it holds the result already, so that the tag is enough.
    package mutating func advance(to digest: Digest) -> Bool {
        guard case .on(let held) = self else { return false }
        self = .on(held: nil)
        return held == digest
    }

    /// Notes that the client gets an error. It may replace its result by that.
    package mutating func failed() {
        if isOn { self = .on(held: nil) }
    }
}
