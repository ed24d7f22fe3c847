import CBenchmarks

/// Callers of a node's HTTP port, each on a kept-alive connection with one request at a time, on their own thread.
enum HTTPCallers {
    /// Runs for one second of warm-up and `seconds` of measurement.
    /// - Throws: `BenchmarkFailure` if a connection fails or a response is not 200.
    static func run(
        port: Int, _ requests: [String], callers: Int, seconds: Int
    ) async throws -> cbench_http_outcome {
        let (status, outcome) = await onThread {
            let texts = CTexts(requests)
            let lengths = requests.map(\.utf8.count)
            var outcome = cbench_http_outcome()
            let status = cbench_http_loop(
                UInt16(port), texts.pointers, lengths, UInt32(requests.count), UInt32(callers), 1, Double(seconds),
                &outcome)
            return (status, outcome)
        }
        guard status == 0 else { throw BenchmarkFailure("the callers' connections failed") }
        guard outcome.answered > 0, outcome.refused == 0 else {
            throw BenchmarkFailure("\(outcome.refused) of \(outcome.answered) requests were refused")
        }
        return outcome
    }
}
