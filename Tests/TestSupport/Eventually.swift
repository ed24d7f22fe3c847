package struct WaitTimedOut: Error, CustomStringConvertible {
    package let description: String
    package init(description: String) { self.description = description }
}

/// The first value that a state gives, for states that give no other sign.
/// - Parameter seconds: the bound.
/// - Throws: `WaitTimedOut`, and what `state` throws.
package func waitFor<Value>(
    _ what: @autoclosure () -> String, within seconds: Int = 60, _ state: () async throws -> Value?
) async throws -> Value {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
        if let value = try await state() { return value }
        guard ContinuousClock.now < deadline else {
            throw WaitTimedOut(description: "waited \(seconds) s for \(what())")
        }
        try await Task.sleep(for: .milliseconds(20))
    }
}

/// Waits until a condition holds that gives no other sign.
/// - Parameter seconds: the bound.
/// - Throws: `WaitTimedOut`, and what `condition` throws.
package func waitUntil(
    _ what: @autoclosure () -> String, within seconds: Int = 60, _ condition: () async throws -> Bool
) async throws {
    try await waitFor(what(), within: seconds) { try await condition() ? () : nil }
}

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
