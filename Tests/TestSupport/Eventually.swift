/// Waits for a state that gives no other sign.
/// - Parameter seconds: the bound.
/// - Returns: whether the condition held within the bound.
package func eventually(
    within seconds: Int = 20, _ condition: () async throws -> Bool
) async rethrows -> Bool {
    for _ in 0..<seconds * 100 {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return try await condition()
}
