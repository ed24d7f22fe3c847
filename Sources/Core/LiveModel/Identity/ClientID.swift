/// The subscriber of a live query, as a number: a user, or an address without one.
///
/// The same on all nodes; 64 bits of a digest, so that nobody can choose another one's.
package struct ClientID: Hashable, Sendable {
    package let number: UInt64

    package init(number: UInt64) { self.number = number }

    package init(user: String) { number = Digest(of: Array("user \(user)".utf8)).prefix }
    package init(address: String) { number = Digest(of: Array("address \(address)".utf8)).prefix }
}
