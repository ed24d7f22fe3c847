import ArgumentParser
import Clocks
import Foundation
import ProtocolClients
import Synchronization

struct Subscribe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follows a stored query and prints each result as a line.",
        discussion: "Reconnects automatically. Ends on Ctrl-C, or after --count results.")

    @Argument(help: "Name of the query.")
    var operation: String

    @OptionGroup var options: ClientOptions

    @Option(help: "End after this many results.")
    var count: Int?

    @Flag(help: "Print the time before each result.")
    var time = false

    func run() async {
        let subscription = LiveSubscription(
            address: options.address(), connector: options.connector, operation: operation,
            variables: options.object(), token: options.bearer)
        let seen = Atomic<Int>(0)
        let limit = count
        let printsTime = time
        do {
            try await subscription.run { event in
                switch event {
                case .next(let payload):
                    let text = String(decoding: payload, as: UTF8.self)
                    Terminal.out(printsTime ? "\(Self.clockText()) \(text)" : text)
                    if let limit, seen.wrappingAdd(1, ordering: .relaxed).newValue >= limit { Foundation.exit(0) }
                case .reconnecting(let afterMs, let reason):
                    Terminal.error("\(reason); again in \(afterMs) ms")
                }
            }
        } catch {
            Terminal.fail("\(error)")
        }
    }

    private static func clockText() -> String {
        let milliseconds = Int(WallClock.nowMs() % 86_400_000)
        return String(
            format: "%02d:%02d:%02d.%03d", milliseconds / 3_600_000, milliseconds / 60_000 % 60,
            milliseconds / 1_000 % 60, milliseconds % 1_000)
    }
}
