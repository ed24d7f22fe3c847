import ProjectFolder

extension FolderWatch {
    /// Performs a command now and after every change of a folder, until SIGINT or SIGTERM; what has begun ends first.
    static func performAgain(with folder: String, _ perform: @escaping @Sendable () async -> Void) async {
        let loop = Task {
            let watch = FolderWatch(folder)
            var state = watch.look()
            while !Task.isCancelled {
                await perform()
                Terminal.error("watching \(folder) …")
                guard let changed = await watch.change(from: state) else { return }
                state = changed
            }
        }
        await Signals.waitForEnd()
        loop.cancel()
        await loop.value
    }
}
