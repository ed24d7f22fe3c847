import SeededRandom

/// Writes of others than the service's own mutations, which only the database's log tells, and faults of its readers
/// and of the slot. They take place under every fourth seed and draw from a source of their own, so that the other
/// seeds keep their course.
extension World {
    static func writesOutside(_ seed: UInt64) -> Bool { seed % 4 == 2 }

    /// Whether mutations leave their events in the log alone, under half of these seeds.
    static func logsEvents(_ seed: UInt64) -> Bool { seed % 8 == 2 }

    /// The time after which others see a transaction that is in the log.
    func invisibleMs() -> Int64 {
        guard Int.random(in: 0..<4, using: &outsideRandom) == 0 else { return 0 }
        return Int64.random(in: 1...SimulatedPostgres.invisibleMaxMs, using: &outsideRandom)
    }

    func writeOutside(untilMs: Int64) {
        guard writesOutside else { return }
        for at in outsideTimes(untilMs: untilMs, everyMs: 40...500) {
            timeline.at(at) { [self] in writeOutsideOnce() }
        }
        for at in outsideTimes(untilMs: untilMs, everyMs: 300...4_000) {
            timeline.at(at) { [self] in if hasFaults { failTailing() } }
        }
    }

    private func outsideTimes(untilMs: Int64, everyMs: ClosedRange<Int64>) -> [Int64] {
        var times: [Int64] = []
        var at = timeline.nowMs
        while at < untilMs {
            at += Int64.random(in: everyMs, using: &outsideRandom)
            if at < untilMs { times.append(at) }
        }
        return times
    }

    func writeOutsideOnce() {
        let isSlow = Int.random(in: 0..<4, using: &outsideRandom) == 0
        let entity = Workload.outsideEntities.randomElement(using: &outsideRandom) ?? "o0"
        let delayMs = Int64.random(in: 1...SimulatedPostgres.invisibleMaxMs, using: &outsideRandom)
        writeOutside(entity, visibleAfterMs: isSlow ? delayMs : 0)
    }

    private func writeOutside(_ entity: String, visibleAfterMs delayMs: Int64) {
        guard postgres.isUp else { return }
        let xid = postgres.writeOutside(entity)
        note("outside wrote \(entity) as \(xid), visible after \(delayMs) ms")
        if delayMs == 0 { return postgres.becomeVisible(xid) }
        timeline.after(delayMs) { [self] in postgres.becomeVisible(xid) }
    }

    /// Writes every entity a last time, while nobody can read or publish it, or long before it is visible. No later
    /// write hides what was missed.
    func writeOutsideLast() {
        guard writesOutside else { return }
        let kind = Int.random(in: 0..<4, using: &outsideRandom)
        faults["finalTailing.\(kind)", default: 0] += 1
        note("final tailing fault \(kind)")
        switch kind {
        case 0: dropSlot()
        case 1: postgres.log.slot?.isLost = true
        case 2: break
        default:
            for tailer in tailers {
                tailer.cutFromRedis(ms: 1_000)
                timeline.after(Int64.random(in: 100...400, using: &outsideRandom)) { [self] in killAndRestart(tailer) }
            }
        }
        for entity in Workload.outsideEntities {
            writeOutside(entity, visibleAfterMs: kind == 2 ? SimulatedPostgres.invisibleMaxMs : 0)
        }
        if logsEvents { mutateAll(withinMs: 200) }
    }

    /// Drops the slot, as somebody may.
    private func dropSlot() {
        postgres.log.slot = nil
        postgres.log.tidy()
    }

    private func failTailing() {
        let tailer = tailers[Int.random(in: 0..<tailers.count, using: &outsideRandom)]
        let kind = Int.random(in: 0..<7, using: &outsideRandom)
        faults["tailing.\(kind)", default: 0] += 1
        note("tailing fault \(kind) \(tailer.name)")
        switch kind {
        case 0, 1:
            tailer.kill()
            timeline.after(Int64.random(in: 50...5_000, using: &outsideRandom)) { tailer.start() }
        case 2, 3: tailer.pause(ms: Int64.random(in: 100...6_000, using: &outsideRandom))
        case 4: tailer.cutFromPostgres(ms: Int64.random(in: 100...5_000, using: &outsideRandom))
        case 5: dropSlot()
        default:
            // The database has removed what the slot needs.
            postgres.log.slot?.isLost = true
        }
    }
}
