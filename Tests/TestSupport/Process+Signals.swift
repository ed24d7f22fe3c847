package import Foundation

extension Process {
    /// Starts it so that signals reach it: a child inherits what its thread blocks, and Dispatch's threads block
    /// everything, so it would not hear of SIGTERM.
    /// - Throws: Foundation's error if the program cannot be started.
    package func runWithSignals() throws {
        var none = sigset_t()
        sigemptyset(&none)
        var before = sigset_t()
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try run()
    }
}
