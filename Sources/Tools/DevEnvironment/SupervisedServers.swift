package import LocalServers

/// Keeps private servers running, and says in a line when one ends or comes back.
package enum SupervisedServers {
    package static func keep(
        _ servers: any SupervisedServer..., report: @escaping @Sendable (String) -> Void
    ) -> [ServerSupervisor] {
        servers.map { ServerSupervisor($0) { server, news in report(line(server, news)) } }
    }

    private static func line(_ server: any SupervisedServer, _ news: ServerSupervisor.News) -> String {
        switch news {
        case .ended(let ms):
            "\(server.serverName) ended; it is started again in \(ms) ms; its log is \(server.logPath)"
        case .notStarted(let error, let ms):
            "\(server.serverName) could not be started: \(error.message); tried again in \(ms) ms"
        case .startedAgain: "\(server.serverName) is back"
        case .givenUp:
            "\(server.serverName) ended too often and is not started any more; its log is \(server.logPath)"
        }
    }
}
