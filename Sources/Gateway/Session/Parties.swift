package import Execution
package import LiveModel
package import Sessions
internal import Synchronization

/// What users and addresses have on this node, for sessions of all event loops and requests of all tasks.
package final class Parties: Sendable {
    private let ledger: Mutex<PartyLedger>

    package init(_ limits: PartyLimits = PartyLimits()) {
        ledger = Mutex(PartyLedger(limits))
    }

    /// - Throws: `.limitExceeded`.
    package func take(_ thing: PartyThing, for parties: [Party]) throws(RequestError) {
        try ledger.withLock { ledger throws(RequestError) in try ledger.take(thing, for: parties) }
    }

    package func give(_ thing: PartyThing, for parties: [Party]) {
        ledger.withLock { $0.give(thing, for: parties) }
    }

    package func count(_ thing: PartyThing, of party: Party) -> Int { ledger.withLock { $0.count(thing, of: party) } }

    /// A stream or a long-poll: one session and one subscription.
    /// - Throws: `.limitExceeded`.
    package func takeStream(for parties: [Party]) throws(RequestError) {
        try ledger.withLock { ledger throws(RequestError) in
            try ledger.take(.session, for: parties)
            do throws(RequestError) {
                try ledger.take(.subscription, for: parties)
            } catch {
                ledger.give(.session, for: parties)
                throw error
            }
        }
    }

    package func giveStream(for parties: [Party]) {
        ledger.withLock { ledger in
            ledger.give(.session, for: parties)
            ledger.give(.subscription, for: parties)
        }
    }
}

extension Identity {
    /// Nobody shares a limit with others who are signed out.
    package var parties: [Party] { auth.map { [.user($0.uid)] } ?? [] }
}
