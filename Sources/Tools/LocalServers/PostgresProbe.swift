import CLibpq
import Threads

/// Checks whether a starting server is ready, and then creates the database. Uses its own thread, because libpq blocks.
enum PostgresProbe {
    enum Answer: Sendable {
        case ready
        case notYet
        /// The server responds but refuses to create the database.
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
        // libpq's minimum is 2 seconds.
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
        return .refused("cannot create the database \(name): \(String(cString: PQerrorMessage(connection)))")
    }
}
