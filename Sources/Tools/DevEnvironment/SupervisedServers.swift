package import LocalServers

/// Keeps private servers running, and reports a line when one ends or restarts.
package enum SupervisedServers {
    package static func keep(
        _ servers: any SupervisedServer..., report: @escaping @Sendable (String) -> Void
    ) -> [ServerSupervisor] {
        servers.map { ServerSupervisor($0) { server, event in report(line(server, event)) } }
    }

    private static func line(_ server: any SupervisedServer, _ event: ServerSupervisor.Event) -> String {
        switch event {
        case .ended(let ms):
            "\(server.serverName) ended; it is started again in \(ms) ms; its log is \(server.logPath)"
        case .notStarted(let error, let ms):
            "\(server.serverName) could not be started: \(error.message); tried again in \(ms) ms"
        case .restarted: "\(server.serverName) is back"
        case .givenUp:
            "\(server.serverName) ended too often and is not started any more; its log is \(server.logPath)"
        }
    }
}
