#if canImport(Network)
    import Foundation
    import Network

    /// Tells that the system has a network again, or another one, and that the app has come to the foreground: the
    /// system may have ended its connections meanwhile. It ends with its last reference.
    final class NetworkWatch: @unchecked Sendable {
        // Nothing changes after `init`; the observers are only handed back.
        private let monitor = NWPathMonitor()
        private let observers: [any NSObjectProtocol]

        /// The names that UIKit, AppKit and WatchKit give them, so that none of these is needed here.
        private static let foregroundNames = [
            "UIApplicationWillEnterForegroundNotification", "NSApplicationDidBecomeActiveNotification",
            "WKApplicationWillEnterForegroundNotification",
        ]

        init(onChange: @escaping @Sendable () -> Void) {
            observers = Self.foregroundNames.map { name in
                NotificationCenter.default.addObserver(
                    forName: Notification.Name(name), object: nil, queue: nil
                ) { _ in onChange() }
            }
            monitor.pathUpdateHandler = { path in if path.status == .satisfied { onChange() } }
            monitor.start(queue: DispatchQueue(label: "freshet.network"))
        }

        deinit {
            monitor.cancel()
            for observer in observers { NotificationCenter.default.removeObserver(observer) }
        }
    }
#endif
