package import NIOCore

/// Runs tasks on an event loop, so that a request's task works where its connection lives and its response needs no
/// thread switch. For tasks that never block and compute little between suspensions.
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
