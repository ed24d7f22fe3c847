import NIOCore
import NIOPosix
import OutboundHTTP
import Settings

/// The first stage of a start, which creates the event loops, the node's tasks and its HTTP client.
struct NodeNetwork: Sendable {
    let group: MultiThreadedEventLoopGroup
    let tasks: BackgroundTasks
    let sender: HTTPSender

    static func open(_ node: NodeContext, _ parts: ClosingStack) -> NodeNetwork {
        let loops = node.settings.http.eventLoops > 0 ? node.settings.http.eventLoops : System.coreCount
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        parts.push("event loops") { _ in try? await group.shutdownGracefully() }
        let tasks = BackgroundTasks()
        // By then the tasks are cancelled, and the connections that they may wait for are closed.
        parts.push("end of tasks") { _ in await tasks.finish() }
        let sender = HTTPSender(group: group, connectionsPerHostMax: node.connectionsPerHostMax)
        parts.push("HTTP client") { _ in await sender.stop() }
        return NodeNetwork(group: group, tasks: tasks, sender: sender)
    }
}
