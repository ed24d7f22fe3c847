import CLibpq

struct SQLFailure: Error { let message: String }

/// One statement on a connection of its own; the first column of the result.
@discardableResult
func sql(_ connectionString: String, _ text: String) throws -> [String] {
    let connection = PQconnectdb(connectionString)
    defer { PQfinish(connection) }
    guard PQstatus(connection) == CONNECTION_OK else {
        throw SQLFailure(message: String(cString: PQerrorMessage(connection)))
    }
    let result = PQexec(connection, text)
    defer { PQclear(result) }
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK: return []
    case PGRES_TUPLES_OK: return (0..<PQntuples(result)).map { String(cString: PQgetvalue(result, $0, 0)) }
    default: throw SQLFailure(message: String(cString: PQerrorMessage(connection)))
    }
}
