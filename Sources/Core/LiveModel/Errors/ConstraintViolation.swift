/// The database constraint that a write violated, in terms of the schema. It stays on the node; a client receives a
/// `Disclosure` of it.
package struct ConstraintViolation: Hashable, Sendable {
    /// The GraphQL type of the table; its SQL name if the schema lacks it.
    package var table: String?
    /// The SQL name of the constraint.
    package var constraint: String?
    /// The fields of the type that the constraint concerns; empty if unknown.
    package var fields: [String]
    /// The fields among them to which the mutation itself gives values.
    package var givenFields: [String]

    package init(table: String?, constraint: String?, fields: [String], givenFields: [String]) {
        self.table = table
        self.constraint = constraint
        self.fields = fields
        self.givenFields = givenFields
    }

    /// The part of a violated constraint that the recipient of an error learns.
    package struct Disclosure: Hashable, Sendable {
        package var table: String?
        package var constraint: String?
        package var fields: [String]
    }
}

extension RequestError {
    /// Returns the error with what its recipient may know of a violated constraint, in the message and in
    /// `extensions`.
    /// - Parameter everything: for developers and administrators, table, constraint and fields. Otherwise only fields
    ///   that the mutation writes itself: a client that uses the mutation knows those.
    package func disclosingViolation(everything: Bool) -> RequestError {
        guard let violation, disclosure == nil else { return self }
        var error = self
        if everything {
            error.disclosure = .init(
                table: violation.table, constraint: violation.constraint, fields: violation.fields)
            let place = [violation.table, violation.fields.isEmpty ? nil : violation.fields.joined(separator: ", ")]
                .compactMap { $0 }.joined(separator: ": ")
            let name = violation.constraint.map { "constraint \($0)" }
            let details = [place.isEmpty ? nil : place, name].compactMap { $0 }
            if !details.isEmpty { error.message += " (\(details.joined(separator: "; ")))" }
        } else if !violation.givenFields.isEmpty {
            error.disclosure = .init(fields: violation.givenFields)
            error.message += " (\(violation.givenFields.joined(separator: ", ")))"
        }
        return error
    }
}
