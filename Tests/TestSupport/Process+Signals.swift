package import Foundation

extension Process {
    /// Starts it so that signals reach it. A child inherits what its thread blocks, and Dispatch's threads block
    /// everything, so it would not hear of SIGTERM; and what the process ignores, as one does with SIGINT that a script
    /// has started in the background.
    /// - Throws: Foundation's error if the program cannot be started.
    package func runWithSignals() throws {
        signal(SIGINT, SIG_DFL)
        var none = sigset_t()
        sigemptyset(&none)
        var before = sigset_t()
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try run()
    }
}
