import JSON
import LiveModel

/// A parameter of a route of the admin API: where it stands, its values, and what it means.
package struct AdminParameter: Sendable, Hashable {
    package enum Place: String, Sendable {
        case path, query
    }

    /// The values that are accepted.
    package enum Form: Sendable, Hashable {
        /// A whole number in decimal digits.
        case integer(ClosedRange<Int64>)
        /// 1 to `bytesMax` bytes of UTF-8.
        case text(bytesMax: Int)
        case choice([String])
    }

    package let name: String
    package let place: Place
    package let form: Form
    package let isRequired: Bool
    /// The value without the parameter, as text; nil if there is none.
    package let standard: String?
    /// A sentence for people.
    package let about: String

    static func path(_ name: String, _ form: Form, _ about: String) -> AdminParameter {
        AdminParameter(name: name, place: .path, form: form, isRequired: true, standard: nil, about: about)
    }

    static func query(
        _ name: String, _ form: Form, _ about: String, isRequired: Bool = false, standard: String? = nil
    ) -> AdminParameter {
        AdminParameter(
            name: name, place: .query, form: form, isRequired: isRequired, standard: standard, about: about)
    }

    /// - Throws: `.badRequest` with what is accepted.
    func check(_ value: String) throws(RequestError) {
        switch form {
        case .integer(let range):
            guard let number = Int64(value), range.contains(number) else {
                throw RequestError(
                    .badRequest, "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
        case .text(let bytesMax):
            guard (1...bytesMax).contains(value.utf8.count) else {
                throw RequestError(.badRequest, "\(name) must have 1 to \(bytesMax) bytes")
            }
        case .choice(let choices):
            guard choices.contains(value) else {
                throw RequestError(.badRequest, "\(name) must be \(choices.joined(separator: " or "))")
            }
        }
    }
}

/// The arguments of one request, checked against the parameters of its route.
package struct AdminArguments: Sendable {
    private let values: [String: String]
    /// The arguments of the query alone, for a request to another node.
    let query: [(name: String, value: String)]

    /// The arguments of a route without parameters.
    init() { (values, query) = ([:], []) }

    /// Checks the values of a request.
    /// - Parameters:
    ///   - path: the values of the path's parameters by name.
    ///   - query: the items of the query; the first of a name counts.
    ///   - isStrict: whether an item that is no parameter is an error.
    /// - Throws: `.badRequest` for a value that is missing, malformed, out of range or unknown.
    init(
        _ parameters: [AdminParameter], path: [String: String], query: [(name: String, value: String)],
        isStrict: Bool = true
    ) throws(RequestError) {
        var values = path
        for item in query where values[item.name] == nil { values[item.name] = item.value }
        if isStrict, let unknown = query.first(where: { item in !parameters.contains { $0.name == item.name } }) {
            let names = parameters.filter { $0.place == .query }.map(\.name)
            throw RequestError(
                .badRequest,
                "there is no parameter \"\(unknown.name.prefix(40))\"; "
                    + (names.isEmpty ? "the path takes none" : "there are \(names.joined(separator: ", "))"))
        }
        for parameter in parameters {
            guard let value = values[parameter.name] ?? parameter.standard else {
                if parameter.isRequired { throw RequestError(.badRequest, "\(parameter.name) is required") }
                continue
            }
            try parameter.check(value)
            values[parameter.name] = value
        }
        self.values = values
        self.query = query.filter { item in parameters.contains { $0.name == item.name && $0.place == .query } }
    }

    /// Returns the members of a body as items of a query: texts as they are, anything else as JSON.
    static func items(ofBody body: JSONObject) -> [(name: String, value: String)] {
        body.entries.compactMap { member in
            switch member.value {
            case .null: nil
            case .string(let text): (member.key, text)
            case let value: (member.key, String(decoding: value.compactBytes, as: UTF8.self))
            }
        }
    }

    subscript(_ name: String) -> String? { values[name] }

    /// Returns a number that the route's parameters have checked.
    func integer<N: FixedWidthInteger>(_ name: String) -> N? { values[name].flatMap { N($0) } }

    /// Returns an operation given as `CONNECTOR/OPERATION`; nil without the argument.
    /// - Throws: `.badRequest` for another form.
    func operation(_ name: String = "operation") throws(RequestError) -> OperationReference? {
        guard let text = values[name] else { return nil }
        guard let operation = OperationReference(text) else {
            throw RequestError(.badRequest, "\(name) must be CONNECTOR/OPERATION")
        }
        return operation
    }
}
