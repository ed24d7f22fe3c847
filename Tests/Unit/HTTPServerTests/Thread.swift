import Dispatch

/// A place for a blocking client to run beside the test.
enum Thread {
    static func run(_ body: @escaping () -> Void) {
        // The test does not touch the client until the body has ended what it waits for.
        nonisolated(unsafe) let body = body
        DispatchQueue(label: "client").async { body() }
    }
}
