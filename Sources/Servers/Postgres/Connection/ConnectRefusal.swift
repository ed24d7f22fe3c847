/// Parses libpq's message about a failed connection attempt into an error. Pure.
///
/// libpq has no call for the SQLSTATE of a refusal; verbose messages have it after the severity:
///
///     connection to server at "…", port 5432 failed: FATAL:  28P01: password authentication failed for user "x"
///     LOCATION:  auth_failed, auth.c:326
enum ConnectRefusal {
    /// Whether retrying cannot help: invalid authorization (28…), no such database, no right to connect.
    private static func isFinal(_ sqlState: String) -> Bool {
        SQLState.isInvalidAuthorization(sqlState) || sqlState == SQLState.invalidCatalogName
            || sqlState == SQLState.insufficientPrivilege
    }

    static func error(_ message: String, needsPassword: Bool) -> PostgresError {
        var lines: [Substring] = []
        var sqlState: String?
        for line in message.split(whereSeparator: \.isNewline) {
            guard let code = Self.code(in: line) else {
                if sqlState == nil || !isLocation(line) { lines.append(line) }
                continue
            }
            sqlState = String(line[code])
            lines.append(line[..<code.lowerBound] + line[code.upperBound...].dropFirst(2))
        }
        let text = lines.joined(separator: " ")
        var error = PostgresError(.connectionFailed, text)
        error.sqlState = sqlState
        // libpq's own errors, before it contacts a server, begin like this: `invalid sslmode value: "x"`.
        error.isMisconfigured =
            sqlState.map(isFinal) ?? (needsPassword || text.hasPrefix("invalid "))
        return error
    }

    /// The range of the SQLSTATE in `:  28P01: `.
    private static func code(in line: Substring) -> Range<Substring.Index>? {
        var from = line.startIndex
        while let mark = line[from...].firstRange(of: ":  ") {
            let code = line[mark.upperBound...].prefix { $0.isASCII && ($0.isNumber || $0.isUppercase) }
            if code.count == 5, line[code.endIndex...].hasPrefix(": ") { return code.startIndex..<code.endIndex }
            from = mark.upperBound
        }
        return nil
    }

    /// Whether the line is the location; some servers translate the word LOCATION, but not what follows it.
    private static func isLocation(_ line: Substring) -> Bool {
        line.contains(":  ") && line.contains(".c:")
    }
}
