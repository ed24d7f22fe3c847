package import CEL
import JSON

extension MutationEvent {
    /// Whether the event tells all that a condition reads of the writer's `auth`.
    package func tells(_ program: Program) -> Bool {
        guard let authParts else { return true }
        // All parts of a signed-out writer are null.
        if auth.isNull, authParts.presence { return true }
        return program.attributes.allSatisfy { attribute in
            guard let path = ConditionActivation.authPath(attribute, of: "mutation") else { return true }
            return authParts.includes(path: path)
        }
    }
}
