package import LiveModel

/// The effect of each rule of one version of a query. A run that several rules caused counts for each of them.
package struct RuleCounts: Sendable, Hashable {
    package struct Effect: Sendable, Hashable {
        /// Runs that the rule caused, and those of them that found another result.
        package private(set) var fired: UInt64 = 0
        package private(set) var changed: UInt64 = 0
        /// The runs' shares of the time of their statements. A statement runs many live queries.
        package private(set) var micros: UInt64 = 0

        package init() {}

        fileprivate mutating func ran(isChanged: Bool, micros: UInt64) {
            fired += 1
            if isChanged { changed += 1 }
            self.micros &+= micros
        }
    }

    package let version: Digest
    /// The implicit rule: looked-up rows.
    package private(set) var key = Effect()
    /// Automatic refresh: changes of rows.
    package private(set) var rows = Effect()
    /// `@refresh(every:)`
    package private(set) var timer = Effect()
    private var triggers = [Effect](repeating: Effect(), count: RuleIndex.Causes.triggersMax)

    init(version: Digest) { self.version = version }

    /// Returns the effect of a trigger.
    /// - Parameter number: its position among the query's triggers. The last place has the sum of those from there on.
    package func trigger(_ number: Int) -> Effect { triggers[min(number, triggers.count - 1)] }

    mutating func ran(_ causes: RuleIndex.Causes, isChanged: Bool, micros: UInt64) {
        if causes.contains(.implicit) { key.ran(isChanged: isChanged, micros: micros) }
        if causes.contains(.automatic) { rows.ran(isChanged: isChanged, micros: micros) }
        if causes.contains(.timer) { timer.ran(isChanged: isChanged, micros: micros) }
        causes.forEachTrigger { triggers[$0].ran(isChanged: isChanged, micros: micros) }
    }
}
