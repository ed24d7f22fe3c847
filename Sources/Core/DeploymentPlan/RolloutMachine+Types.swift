package import LiveModel

extension RolloutMachine {
    package struct Settings: Sendable, Hashable {
        package var schedule = DeploymentSchedule.Settings()
        /// The most versions that may still be served besides the new one.
        package var versionsMax = 4
        /// The time limit for the nodes to load the version, and again for them to serve it.
        package var timeoutMs: Int64 = 120_000
        /// The time between two reads of the node list.
        package var lookMs: Int64 = 200
        package var heartbeatMs: Int64 = 1_000
        package var nodeTtlMs: Int64 = 5_000
        /// Whether to deploy even if clients of the served version may break.
        package var allowsBreaking = false
        package var isDryRun = false
        package var isReload = false
        /// The version before the first deployment, for a rollout to the one node that serves this folder.
        package var folder: Digest?

        package init() {}
    }

    /// The version to deploy.
    package struct Candidate: Sendable, Hashable {
        package let version: Digest
        /// The size of the archived project.
        package let byteCount: Int

        package init(version: Digest, byteCount: Int) {
            self.version = version
            self.byteCount = byteCount
        }
    }

    /// Identifies a call that awaits an answer.
    package typealias CallID = UInt64

    package enum Call: Sendable, Hashable {
        /// Read the history; answer with `.history`.
        case readHistory
        /// Load a former version to deploy it again; answer with `.candidate` or `.notStored`.
        case loadFormer(deployment: Int64, Digest)
        /// Withdraw all announcements; answer with `.done`.
        case withdraw
        /// Read the node list; answer with `.nodes`.
        case readNodes
        /// Compare the candidate with a served version and report the findings; answer with `.compared` or
        /// `.notStored`.
        case compare(with: Digest)
        /// Plan the migration and report the plan; answer with `.planned`.
        case plan
        /// Migrate the database; answer with `.candidate` if that changed what the version says of the database, with
        /// `.done` otherwise.
        case migrate
        /// Store the candidate as announced; answer with `.announced`.
        case announce
        /// Make the announced version current; answer with `.activated`.
        case activate(deployment: Int64)
        /// Remove stored versions except these and the newest; answer with `.done`.
        case prune(keeping: [Digest])
        /// Answer with `.done` after this time.
        case wait(ms: Int64)
    }

    package enum Effect: Sendable {
        /// Make the call, then call `answered`.
        case perform(CallID, Call)
        case report(Report)
        /// The rollout has ended; an error says why it is incomplete.
        case end((any Error)?)
    }

    package enum Report: Sendable, Hashable {
        case alreadyDeployed(Digest)
        /// The version is served but not stored.
        case notCompared(Digest)
        case step(summary: String, isDryRun: Bool)
        case deployable(Digest)
        case announced(deployment: Int64, Digest)
        case progress(RolloutWait.Goal, done: Int, nodes: Int)
        case deployed(nodes: Int)
    }

    package enum Answer: Sendable {
        case done
        case history(DeploymentHistory)
        case candidate(Candidate)
        case notStored
        case nodes([NodeRecordPayload])
        /// The number of changes that would break clients.
        case compared(breaking: Int)
        /// - Parameter isHarmful: whether operations would fail on the database as it is.
        case planned(steps: [String], isHarmful: Bool)
        case announced(deployment: Int64)
        case activated(Bool)
        case failed(any Error)
    }
}
