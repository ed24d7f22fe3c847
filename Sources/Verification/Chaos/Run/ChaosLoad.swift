import LoadDriver

/// The scenario of a run: subscribers to every operation of `config/chaos` over every transport.
enum ChaosLoad {
    static let counterOperations = 6
    static let teamOperations = 3
    static let requestTimeoutMs = 8_000
    /// The time for which an unanswered mutation is sent again with its idempotency key: longer than any fault.
    static let retryMs = 120_000

    /// - Parameter seconds: the duration of the mutations, without pauses.
    static func scenario(subscribers: Int, perSecond: Double, seconds: Int) -> String {
        let transports = ["graphql-transport-ws", "sse", "longpoll"]
        let operations = (1...counterOperations).map { "Counter\($0)" } + (1...teamOperations).map { "Team\($0)" }
        let parts = operations.count * transports.count
        var groups = ""
        for (number, operation) in operations.enumerated() {
            let variable = operation.hasPrefix("Team") ? "team" : "number"
            for (index, transport) in transports.enumerated() {
                let part = number * transports.count + index
                let count = subscribers * (part + 1) / parts - subscribers * part / parts
                guard count > 0 else { continue }
                groups += """
                      - count: \(count)
                        operation: \(operation)
                        transport: \(transport)
                        row: random
                        variables: {\(variable): "{{row.\(variable)}}"}

                    """
            }
        }
        return """
            name: chaos
            connector: chaos
            rows: {operation: AllCounters, path: counters}
            subscribers:
            \(groups)
            mutations:
              - operation: Bump
                perSecond: \(perSecond)
                row: random
                retryMs: \(retryMs)
                variables: {number: "{{row.number}}", team: "{{row.team}}", note: "{{marker}}"}
            connectTimeoutMs: 120000
            requestTimeoutMs: \(requestTimeoutMs)
            warmUpMs: 0
            durationMs: \(seconds * 1_000)

            """
    }
}

extension SteadyLoad {
    /// Each mutation is sent again with its idempotency key until it is answered.
    func unanswered(_ count: Int) async -> [String] {
        guard count > 0 else { return [] }
        let errors = await snapshot().errors.examples.sorted { $0.key < $1.key }
        return ["\(count) mutations were not answered; errors so far: \(errors.map { "\($0.key): \($0.value)" })"]
    }
}
