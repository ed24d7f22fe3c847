import CEL
import LiveModel

/// A condition split at its top-level `&&`, so that most of it need not be evaluated per live query:
///
///     mutation.variables.status == 'PUBLISHED'        event side: once per event
///     && request.variables.genre == mutation.variables.genre      a join: one hash lookup per event
///     && request.auth.uid != ''                        subscriber side: once, when the live query enters
///     && request.variables.year <= mutation.variables.year        the residue: once per candidate
///
/// The split is sound because a conjunction refreshes exactly when no part of it is false, in any order.
struct ConditionPlan: Sendable {
    /// `request.X == mutation.Y`
    struct Join: Sendable {
        let request: AttributeReader
        let mutation: AttributeReader
        let requestPath: AttributePath
        let mutationPath: AttributePath
        /// `request.variables.genre == mutation.variables.genre`
        var text: String { "\(requestPath) == \(mutationPath)" }
    }

    let whole: Program
    let joins: [Join]
    let eventSide: [Program]
    let subscriberSide: [Program]
    let residue: [Program]

    /// One operand of the outermost `&&`, and where the index decides it.
    struct Part: Sendable {
        enum Side: Sendable {
            case join(Join)
            case event, subscriber, residue
        }

        let program: Program
        let side: Side
    }

    /// The operands of the outermost `&&` in the order of the text.
    static func parts(of program: Program) -> [Part] {
        program.conjuncts.map { conjunct in
            if case .attributesEqual(let left, let right) = conjunct.kind {
                let (request, mutation) = left.root == "request" ? (left, right) : (right, left)
                if request.root == "request", mutation.root == "mutation",
                    let requestReader = ConditionActivation.environment.reader(for: request),
                    let mutationReader = ConditionActivation.environment.reader(for: mutation)
                {
                    let join = Join(
                        request: requestReader, mutation: mutationReader, requestPath: request, mutationPath: mutation)
                    return Part(program: conjunct.program, side: .join(join))
                }
            }
            let roots = Set(conjunct.program.attributes.map(\.root))
            if !roots.contains("request") { return Part(program: conjunct.program, side: .event) }
            return Part(program: conjunct.program, side: roots.contains("mutation") ? .residue : .subscriber)
        }
    }

    init(_ program: Program) {
        var joins: [Join] = []
        var eventSide: [Program] = []
        var subscriberSide: [Program] = []
        var residue: [Program] = []
        for part in Self.parts(of: program) {
            switch part.side {
            case .join(let join): joins.append(join)
            case .event: eventSide.append(part.program)
            case .subscriber: subscriberSide.append(part.program)
            case .residue: residue.append(part.program)
            }
        }
        self.whole = program
        self.joins = joins
        self.eventSide = eventSide
        self.subscriberSide = subscriberSide
        self.residue = residue
    }

    static func evaluate(_ programs: [Program], _ activation: ConditionActivation) -> ConditionOutcome {
        var outcome = ConditionOutcome.yes
        for program in programs {
            outcome = outcome.and(ConditionOutcome(program, activation))
            if case .no = outcome { return .no }
        }
        return outcome
    }
}

/// The hash key of a condition's joins, for either side.
enum JoinKey: Hashable, Sendable {
    case one(EqualityKey)
    case several([EqualityKey])

    /// Returns nil if a value cannot be hashed: an absent attribute, NaN, a list. Such a live query or event is decided
    /// by evaluating the whole condition.
    init?(_ readers: some Collection<AttributeReader>, _ activation: ConditionActivation) {
        var keys: [EqualityKey] = []
        keys.reserveCapacity(readers.count)
        for reader in readers {
            guard let value = try? reader.value(in: activation), let key = EqualityKey(value) else { return nil }
            keys.append(key)
        }
        self = keys.count == 1 ? .one(keys[0]) : .several(keys)
    }
}
