import SeededRandom

/// Faults of apps with the SDK, and of their networks.
enum AppFault: CaseIterable {
    case breaks, vanishes, isSilent, isSlow, isBack, restarts, leavesOne
}

/// Apps with the SDK take part under some seeds and draw from sources of their own, so that the other seeds keep their
/// course.
extension World {
    static let appCount = 4

    static func hasApps(_ seed: UInt64) -> Bool { [0, 9, 15].contains(seed % 16) }

    func startApps() {
        for app in apps {
            timeline.after(Int64.random(in: 0...4_000, using: &appRandom)) { app.start() }
        }
    }

    func disturbApps(untilMs: Int64) {
        guard !apps.isEmpty else { return }
        var at = timeline.nowMs
        while at < untilMs {
            at += Int64.random(in: 100...1_500, using: &appRandom)
            timeline.at(at) { [self] in if hasFaults { disturbApp() } }
        }
    }

    private func disturbApp() {
        let app = apps[appRandom.below(apps.count)]
        let fault = AppFault.allCases[appRandom.below(AppFault.allCases.count)]
        let ms = Int64.random(in: 100...5_000, using: &appRandom)
        faults["app.\(fault)", default: 0] += 1
        note("app\(app.number) \(fault) \(ms)")
        switch fault {
        case .breaks: app.socket?.breakOff()
        case .vanishes: app.loseTouch()
        case .isSilent: app.socket?.silence(ms: ms)
        case .isSlow: app.socket?.slow(byMs: ms / 5, forMs: 2 * ms)
        case .isBack: app.networkChanged()
        case .restarts: app.restart(afterMs: ms / 5)
        case .leavesOne: app.leaveOne(forMs: ms)
        }
    }
}
