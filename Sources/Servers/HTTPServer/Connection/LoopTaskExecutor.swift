package import NIOCore

/// Runs the jobs of tasks on an event loop: a request's task then works where its connection lives, and the answer needs
/// no turn of another thread. For tasks that never block and compute little between their suspensions.
package final class LoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    package init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
