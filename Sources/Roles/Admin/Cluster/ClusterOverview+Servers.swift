import JSON

/// Problems of live queries, of the replication slot and of Redis.
extension ClusterOverview {
    /// The log that the database may keep for the slot without being a problem: a reader that keeps up leaves little.
    static let retainedBytesMax: Int64 = 1 << 30
    /// The share of the log allowed to the slot beyond which it is nearly lost.
    static let slotShareMax = 0.8
    /// The share of Redis' memory in use beyond which it is nearly full.
    static let memoryShareMax = 0.9

    /// Half of a worker's live queries or more mean that a server fails rather than a query.
    mutating func addFailures(_ worker: JSONValue?, on node: String) {
        guard let failing = worker?["failing"]?.intValue, failing > 0 else { return }
        let all = max(failing, worker?["liveQueries"]?.intValue ?? 0)
        let last = worker?["lastFailure"].map { ": \(Self.text($0, "operation")): \(Self.text($0, "message"))" } ?? ""
        add(
            failing * 2 >= all ? .critical : .warning,
            "\(failing) of \(Self.count(all, "live query", "live queries")) on \(node) "
                + "\(failing == 1 ? "fails" : "fail"), the last\(last).", "live-queries")
    }

    /// Each slot once, though each node that may read it reports it. One that nobody looks at has no health.
    mutating func addSlots(_ statuses: [JSONValue]) {
        var known: Set<String> = []
        for tailer in statuses.compactMap({ $0["tailer"] }) {
            guard let name = tailer["slot"]?.stringValue, let health = tailer["health"]?.stringValue,
                known.insert(name).inserted
            else { continue }
            let (retained, safe) = (tailer["retainedBytes"]?.intValue ?? 0, tailer["safeBytes"]?.intValue)
            let kept = safe.map { Double(retained) > Self.slotShareMax * Double(retained + max(0, $0)) } ?? false
            switch health {
            case "lost":
                add(.critical, "The replication slot \(name) is lost: the database removed log that it needs.", "home")
            case "unreserved":
                add(
                    .critical,
                    "The replication slot \(name) may be lost at the next checkpoint: its log is not reserved.", "home")
            case _ where kept:
                add(
                    .warning,
                    "The replication slot \(name) is lost after \(Self.bytes(max(0, safe ?? 0))) more of log "
                        + "(max_slot_wal_keep_size).", "home")
            case _ where retained > Self.retainedBytesMax:
                add(.warning, "The database keeps \(Self.bytes(retained)) of log for the slot \(name).", "home")
            default: break
            }
        }
    }

    mutating func add(ofRedis server: JSONValue) {
        guard let most = server["maxBytes"]?.intValue, most > 0 else { return }
        let (name, policy) = (Self.text(server, "server"), Self.text(server, "policy"))
        if policy != "noeviction" {
            add(
                .critical,
                "Redis \(name) removes events when it is full (maxmemory-policy \(policy)); set noeviction.", "home")
        }
        guard let used = server["usedBytes"]?.intValue, Double(used) > Self.memoryShareMax * Double(most) else {
            return
        }
        add(
            used >= most ? .critical : .warning,
            "Redis \(name) uses \(Self.bytes(used)) of \(Self.bytes(most)); when it is full, events wait in the "
                + "outbox.", "home")
    }

    private static func bytes(_ count: Int64) -> String { HumanUnits.bytes(Double(count)) }
}
