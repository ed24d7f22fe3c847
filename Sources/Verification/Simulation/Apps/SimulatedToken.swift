/// A token of a user that runs out, as text.
struct SimulatedToken {
    let uid: String
    let expiresAtMs: Int64

    init(uid: String, expiresAtMs: Int64) {
        self.uid = uid
        self.expiresAtMs = expiresAtMs
    }

    init?(_ text: String) {
        let parts = text.split(separator: ".")
        guard parts.count == 2, let expiresAtMs = Int64(parts[1]) else { return nil }
        self.init(uid: String(parts[0]), expiresAtMs: expiresAtMs)
    }

    var text: String { "\(uid).\(expiresAtMs)" }
}
