import CEL
package import LiveModel

/// A CEL expression that decides which users may use the admin port: `admin.rule` and `admin.writeRule`. Pure.
///
/// It reads `auth` (`{uid, token}`, the claims of the verified ID token below `auth.token`) and `request`
/// (`{method, path, auth}`), and must yield a bool. An evaluation that fails, as for a claim that the token lacks,
/// admits nobody.
package struct AdminRule: Sendable {
    private static let environment = Environment(variables: [
        VariableDeclaration(name: "auth", type: .map(.string, .dyn)),
        VariableDeclaration(name: "request", type: .map(.string, .dyn)),
    ])

    /// The rule's setting, for messages.
    package let setting: String
    private let program: Program

    package struct Invalid: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// - Throws: `Invalid` with the place and the reason.
    package init(_ source: String, setting: String) throws(Invalid) {
        self.setting = setting
        do throws(CompileFailure) {
            program = try Self.environment.compile(source, expecting: .bool)
        } catch {
            throw Invalid(description: "\(setting): \(error)")
        }
        let readable = ["auth": ["uid", "token"], "request": ["method", "path", "auth"]]
        for attribute in program.attributes {
            guard let fields = readable[attribute.root], let field = attribute.fields.first else { continue }
            var unknown = fields.contains(field) ? nil : "\(attribute.root).\(field)"
            if attribute.root == "request", field == "auth", let below = attribute.fields.dropFirst().first,
                readable["auth"]?.contains(below) == false
            {
                unknown = "request.auth.\(below)"
            }
            if let unknown { throw Invalid(description: "\(setting): there is no \(unknown)") }
        }
    }

    /// Returns why the rule refuses a request; nil if it admits it.
    func refusal(of auth: Auth, method: String, path: String) -> RequestError? {
        let user = Value(auth: auth)
        let request: Value = .map(MapValue([("method", .string(method)), ("path", .string(path)), ("auth", user)]))
        do {
            if case .bool(true) = try program.evaluate(SlotActivation([user, request])) { return nil }
            return RequestError(.permissionDenied, "\(setting) does not admit this user")
        } catch {
            // The code alone: a message could hold claims.
            let reason = error.code == .noSuchKey ? "it reads a claim that the token lacks" : error.code.rawValue
            return RequestError(.permissionDenied, "\(setting) does not admit this user: \(reason)")
        }
    }
}
