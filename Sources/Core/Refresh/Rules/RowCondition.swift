package import JSON
import LiveModel

/// A condition on the fields of one row, as the filter of a live query states it: `closesAt > '2026-01-31'`, or a
/// choice of several. As in SQL, no comparison with null holds.
package indirect enum RowCondition: Sendable {
    case all([RowCondition])
    case any([RowCondition])
    case compares(RowTest)
    /// The field has one of the values, in the form of `GuardValue`, or none of them and is not null.
    case isMember(field: String, AutomaticRules.Values, isNegated: Bool)
    case isNull(field: String, Bool)

    /// Whether a row with this image may satisfy it. A field that is not in the image may have any value.
    func mayHold(_ image: JSONObject) -> Bool {
        switch self {
        case .all(let conditions): conditions.allSatisfy { $0.mayHold(image) }
        case .any(let conditions): conditions.contains { $0.mayHold(image) }
        case .compares(let test): test.mayHold(image)
        case .isMember(let field, let values, let isNegated):
            image[field].map { value in
                guard !value.isNull else { return false }
                let text = GuardValue.text(value)
                return isNegated ? !values.hasBytes(of: text) : values.contains(text)
            } ?? true
        case .isNull(let field, let isNull): image[field].map { $0.isNull == isNull } ?? true
        }
    }

    /// Whether a row with these values surely satisfies every part that compares one of the fields.
    /// - Parameter value: returns nil for one that is not known.
    func holds(wherever fields: [String], _ value: (String) -> JSONValue?) -> Bool {
        if case .all(let conditions) = self { return conditions.allSatisfy { $0.holds(wherever: fields, value) } }
        return !self.fields.contains(where: fields.contains) || holds(value)
    }

    private func holds(_ value: (String) -> JSONValue?) -> Bool {
        switch self {
        case .all(let conditions): conditions.allSatisfy { $0.holds(value) }
        case .any(let conditions): conditions.contains { $0.holds(value) }
        case .compares(let test): value(test.field).flatMap(test.holds) ?? false
        case .isMember(let field, let values, isNegated: false): value(field).map(values.surelyContains) ?? false
        case .isMember(let field, let values, isNegated: true):
            value(field).map { !$0.isNull && !values.contains(GuardValue.text($0)) } ?? false
        case .isNull(let field, let isNull): value(field).map { $0.isNull == isNull } ?? false
        }
    }

    /// The fields of the first part that a row with this image does not satisfy.
    func fields(failedBy image: JSONObject) -> [String] {
        guard case .all(let conditions) = self else { return mayHold(image) ? [] : fields }
        return conditions.first { !$0.mayHold(image) }?.fields(failedBy: image) ?? []
    }

    /// The fields that it compares, in the order in which they come first.
    private var fields: [String] {
        switch self {
        case .all(let conditions), .any(let conditions):
            conditions.flatMap(\.fields).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        case .compares(let test): [test.field]
        case .isMember(let field, _, _), .isNull(let field, _): [field]
        }
    }
}

extension AutomaticRules.Values {
    /// Whether a field with this value has one of the values for Postgres. If any would do, that may be because there
    /// are too many.
    func surelyContains(_ value: JSONValue) -> Bool {
        if case .any = self { return false }
        return !value.isNull && hasBytes(of: GuardValue.text(value))
    }

    /// Whether one of the values has the same bytes. Texts that are equal in Swift may differ for Postgres.
    fileprivate func hasBytes(of value: String) -> Bool {
        switch self {
        case .any: true
        case .one(let only): only.utf8.elementsEqual(value.utf8)
        case .several(let values): values.contains { $0.utf8.elementsEqual(value.utf8) }
        }
    }
}
