/// Fetches a key set; concurrent callers share the fetch in flight.
actor KeyFetcher {
    private let source: KeySource
    private var inFlight: Task<TokenSetupError?, Never>?

    init(source: KeySource) {
        self.source = source
    }

    /// Fetches the key set and returns what went wrong, if anything. Calls `started` and `finished` around the fetch,
    /// but not if one is in flight already. The source has its own time limit.
    func fetch(
        started: @Sendable () -> Void, finished: @escaping @Sendable (KeySet?) -> Void
    ) async -> TokenSetupError? {
        if let inFlight { return await inFlight.value }
        started()
        let source = source
        // Unstructured, so that one caller's cancellation does not cancel the fetch for the others.
        let fetch = Task {
            let result = await Self.load(source)
            finished(try? result.get())
            return switch result {
            case .success: TokenSetupError?.none
            case .failure(let error): error
            }
        }
        inFlight = fetch
        let error = await fetch.value
        inFlight = nil
        return error
    }

    private static func load(_ source: KeySource) async -> Result<KeySet, TokenSetupError> {
        let bytes: [UInt8]
        do {
            bytes = try await source.fetch()
        } catch {
            return .failure(
                TokenSetupError(
                    code: .keySetUnreadable, description: "the key set \(source.name) cannot be read: \(error)"))
        }
        do throws(TokenSetupError) {
            return .success(try await KeySet(json: bytes))
        } catch {
            return .failure(
                TokenSetupError(code: error.code, description: "the key set \(source.name): \(error.description)"))
        }
    }
}
