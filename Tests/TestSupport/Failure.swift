/// Returns the error that `body` throws; nil if it returns.
package func failure<Failure: Error>(of body: () throws(Failure) -> some Any) -> Failure? {
    do {
        _ = try body()
        return nil
    } catch {
        return error
    }
}

/// Returns the error that `body` throws; nil if it returns.
package func failure<Failure: Error>(of body: () async throws(Failure) -> some Any) async -> Failure? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}
