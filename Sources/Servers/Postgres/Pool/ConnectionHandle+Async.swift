import Synchronization

extension ConnectionHandle {
    /// Runs a job and suspends until it is answered.
    func run(
        _ kind: JobKind, _ steps: [PostgresStep], timeoutMs: Int, generation: Int? = nil
    ) async throws(PostgresError) -> [ResultSet] {
        let job = Job(kind, steps, timeoutMs: timeoutMs, generation: generation)
        return try await job.answer(requestBytesMax: configuration.requestBytesMax, submit: submit)
    }

    /// Rolls back and undoes whatever a session left behind. If that fails, the connection is dropped.
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

extension StatementLane {
    /// Runs a job and suspends until it is answered.
    func run(_ job: Job, requestBytesMax: Int) async throws(PostgresError) -> [ResultSet] {
        try await job.answer(requestBytesMax: requestBytesMax, submit: submit)
    }
}

extension Job {
    fileprivate func answer(
        requestBytesMax: Int, submit: (Job) -> Void
    ) async throws(PostgresError) -> [ResultSet] {
        let result: Result<[ResultSet], PostgresError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                onCompletion { continuation.resume(returning: $0) }
                validateAndSubmit(requestBytesMax: requestBytesMax, submit)
            }
        } onCancel: {
            cancel()
        }
        return try result.get()
    }

    func validateAndSubmit(requestBytesMax: Int, _ submit: (Job) -> Void) {
        do {
            try validate(requestBytesMax: requestBytesMax)
            submit(self)
        } catch {
            finish(.failure(error))
        }
    }

    /// Reports that the caller no longer wants the answer (`PipelineMachine.cancelled`). Wherever the job arrives
    /// later, it is already marked.
    private func cancel() {
        cancelRequested.store(true, ordering: .sequentiallyConsistent)
        if let connection = connection.withLock({ $0 }) { _ = connection.post(.cancel(self)) }
    }
}
