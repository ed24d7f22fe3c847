/// Commands that a verdict proposes, as a shell takes them.
enum WhyCommand {
    /// - Parameter words: those after `freshet admin`.
    static func text(_ words: String...) -> String {
        (["freshet", "admin"] + words.map(quoted)).joined(separator: " ")
    }

    /// - Parameter session: `NODE/ID`.
    static func endSession(_ session: String) -> String {
        let parts = session.split(separator: "/", maxSplits: 1).map(String.init)
        return text("end-session", parts.last ?? "", "--node", parts.first ?? "")
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            let character = Character(UnicodeScalar(byte))
            return byte < 0x80 && (character.isLetter || character.isNumber || "-_./:@".contains(character))
        }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
