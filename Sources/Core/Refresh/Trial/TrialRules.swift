package import CEL
package import Inspection
package import LiveModel

/// A rule with its condition compiled.
package struct TrialRule: Sendable {
    package let mutation: OperationReference
    package let condition: Program?

    package init(mutation: OperationReference, condition: Program?) {
        self.mutation = mutation
        self.condition = condition
    }

    /// A condition that does not compile.
    package struct ConditionError: Error, CustomStringConvertible {
        /// A sentence with the place in the condition: line and column, from 1.
        package let problem: String
        package let line: Int
        package let column: Int

        package var description: String { "\(line):\(column) of the condition: \(problem)" }
    }

    /// - Throws: `ConditionError` for the first mistake in the condition.
    package init(_ rule: RecordedOperation.Rule) throws(ConditionError) {
        mutation = rule.mutation
        guard let text = rule.condition else {
            condition = nil
            return
        }
        do {
            condition = try ConditionActivation.environment.compile(text, expecting: .bool)
        } catch {
            let first = error.diagnostics[0]
            throw ConditionError(problem: first.message, line: first.line, column: first.column)
        }
        for attribute in condition?.attributes ?? [] {
            guard let field = attribute.fields.first, field != "variables", field != "auth" else { continue }
            let (line, column) = Self.place(of: "\(attribute.root).\(field)", in: text)
            throw ConditionError(
                problem: "a condition cannot read \(attribute.root).\(field); it can read request and mutation, each "
                    + "with .variables and .auth", line: line, column: column)
        }
    }

    private static func place(of part: String, in text: String) -> (line: Int, column: Int) {
        let before = text.firstRange(of: part).map { text[..<$0.lowerBound] } ?? ""
        let column = before.reversed().prefix { $0 != "\n" }.count + 1
        return (before.count { $0 == "\n" } + 1, column)
    }

    func isSame(as other: TrialRule) -> Bool {
        mutation == other.mutation && condition?.source == other.condition?.source
    }
}
