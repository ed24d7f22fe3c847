import CLibpq
import Threads

/// Asks a starting server whether it is ready, and makes the database then. libpq blocks here, on a thread of its own.
enum PostgresProbe {
    enum Answer: Sendable {
        case ready
        case notYet
        /// It answers, but will not do what is needed.
        case refused(String)
    }

    static func prepareDatabase(_ connectionString: String, name: String) async -> Answer {
        await withCheckedContinuation { continuation in
            let isStarted = startThread(named: "postgres-probe") {
                continuation.resume(returning: probe(connectionString, name))
            }
            if !isStarted { continuation.resume(returning: .notYet) }
        }
    }

    private static func probe(_ connectionString: String, _ name: String) -> Answer {
        // At least 2 seconds are needed: less would be rounded up anyway.
        let connection = PQconnectdb(connectionString + " connect_timeout=2 application_name=freshet-probe")
        defer { PQfinish(connection) }
        guard PQstatus(connection) == CONNECTION_OK else { return .notYet }
        let found = name.withCString { name in
            [name].map { Optional($0) }.withUnsafeBufferPointer {
                PQexecParams(
                    connection, "SELECT 1 FROM pg_database WHERE datname = $1::text", 1, nil, $0.baseAddress, nil, nil,
                    0)
            }
        }
        defer { PQclear(found) }
        guard PQresultStatus(found) == PGRES_TUPLES_OK else { return .notYet }
        if PQntuples(found) > 0 { return .ready }
        guard let quoted = PQescapeIdentifier(connection, name, name.utf8.count) else { return .notYet }
        defer { PQfreemem(quoted) }
        let made = PQexec(connection, "CREATE DATABASE " + String(cString: quoted))
        defer { PQclear(made) }
        if PQresultStatus(made) == PGRES_COMMAND_OK { return .ready }
        return .refused("cannot make the database \(name): \(String(cString: PQerrorMessage(connection)))")
    }
}
