import Synchronization

extension ConnectionHandle {
    /// Runs a job and suspends until it is answered.
    func run(
        _ kind: JobKind, _ steps: [PostgresStep], timeoutMs: Int, generation: Int? = nil
    ) async throws(PostgresError) -> [ResultSet] {
        let job = Job(kind, steps, timeoutMs: timeoutMs, generation: generation)
        let result: Result<[ResultSet], PostgresError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                job.onCompletion { continuation.resume(returning: $0) }
                validateAndSubmit(job)
            }
        } onCancel: {
            // May come before the job is submitted: the driver then finds it marked as cancelled.
            cancel(job)
        }
        return try result.get()
    }

    func validateAndSubmit(_ job: Job) {
        do {
            try job.validate(requestBytesMax: configuration.requestBytesMax)
            submit(job)
        } catch {
            job.finish(.failure(error))
        }
    }

    /// Rolls back and undoes whatever a session left behind. If that fails the connection is given up.
    func reset() async {
        let generation = counters.generation.load(ordering: .relaxed)
        let sql = "ROLLBACK;" + configuration.resetScript(role)
        let result: Result<[ResultSet], PostgresError> = await withCheckedContinuation { continuation in
            submit(
                Job(.script(sql), [], timeoutMs: configuration.statementTimeoutMs, generation: generation) {
                    continuation.resume(returning: $0)
                })
        }
        if case .failure = result { post(.reconnect(generation: generation)) }
    }
}
