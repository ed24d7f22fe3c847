package import Inspection
package import LiveModel

/// An edit of one rule of a query: another condition, or a further rule.
package struct RuleEdit: Sendable {
    package let operation: OperationReference
    /// The edited rule of the current version; nil adds one.
    private let edited: (index: Int, rule: RecordedOperation.Rule)?
    private let rule: TrialRule

    /// An edit that names no rule.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// - Parameters:
    ///   - number: the rule's number in source order, from 1; needed if the query has several.
    ///   - mutation: adds a rule about this mutation instead.
    ///   - condition: the new condition; nil: none, so that every execution refreshes.
    /// - Throws: `Problem`, or `TrialRule.ConditionError` for a condition that does not compile.
    package init(
        _ operation: OperationReference, number: Int?, mutation: OperationReference?, condition: String?,
        in recording: EventRecording
    ) throws {
        self.operation = operation
        let versions = recording.operations.filter { $0.operation == operation }
        // Without a mark, as in files of former releases, the last one.
        guard let known = versions.last(where: \.isCurrent) ?? versions.last else {
            let names = Set(recording.operations.map(\.operation)).sorted().map(\.description)
            throw Problem(
                "the recording has no rules of \(operation)"
                    + (names.isEmpty ? "" : "; there are \(names.joined(separator: ", "))"))
        }
        if let mutation {
            guard number == nil else { throw Problem("give either the number of a rule or a mutation") }
            edited = nil
            rule = try TrialRule(.init(mutation: mutation, condition: condition))
            return
        }
        let listed = known.rules.enumerated().map { "\($0.offset + 1). \($0.element.text)" }.joined(separator: "; ")
        guard !known.rules.isEmpty else {
            throw Problem("\(operation) has no rule on mutations; name the mutation of a new one")
        }
        guard let number = number ?? (known.rules.count == 1 ? 1 : nil) else {
            throw Problem("\(operation) has \(known.rules.count) rules; give the number of one: \(listed)")
        }
        guard known.rules.indices.contains(number - 1) else {
            throw Problem("\(operation) has no rule \(number): \(listed)")
        }
        edited = (number - 1, known.rules[number - 1])
        rule = try TrialRule(.init(mutation: known.rules[number - 1].mutation, condition: condition))
    }

    /// Returns the edited rules of a version of the query; nil for another query. A version in which the edited rule
    /// stands elsewhere, or does not exist, has other numbers: there the rule with the same text is edited, or none.
    package func rules(of known: RecordedOperation) throws(TrialRule.ConditionError) -> [TrialRule]? {
        guard known.operation == operation else { return nil }
        var rules = try known.rules.map { rule throws(TrialRule.ConditionError) in try TrialRule(rule) }
        guard let edited else { return rules + [rule] }
        let isInPlace = known.rules.indices.contains(edited.index) && known.rules[edited.index] == edited.rule
        if let index = isInPlace ? edited.index : known.rules.firstIndex(of: edited.rule) { rules[index] = rule }
        return rules
    }
}
