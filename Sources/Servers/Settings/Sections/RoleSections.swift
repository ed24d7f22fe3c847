/// The sections. What each setting means, its unit, range and default: `SettingTable`.
extension Settings {
    package struct Worker: Sendable, Hashable {
        package var coalesceGapMs: Int
        package var runsMax: Int
        package var remoteRunsMax: Int
        package var batchMax: Int
        package var liveQueriesMax: Int
        package var checkpointMs: Int
        package var everyMinimumMs: Int
        package var pacedRunsPerSecond: Int
        package var pacedStatementsMax: Int
        package var historyMax: Int
        package var historyBytesMax: Int
        package var replayMax: Int

        init(_ values: SettingValues) {
            coalesceGapMs = values.int("worker.coalesceGapMs")
            runsMax = values.int("worker.runsMax")
            remoteRunsMax = values.int("worker.remoteRunsMax")
            batchMax = values.int("worker.batchMax")
            liveQueriesMax = values.int("worker.liveQueriesMax")
            checkpointMs = values.int("worker.checkpointMs")
            everyMinimumMs = values.int("worker.everyMinimumMs")
            pacedRunsPerSecond = values.int("worker.pacedRunsPerSecond")
            pacedStatementsMax = values.int("worker.pacedStatementsMax")
            historyMax = values.int("worker.historyMax")
            historyBytesMax = values.int("worker.historyBytesMax")
            replayMax = values.int("worker.replayMax")
        }
    }

    package struct Gateway: Sendable, Hashable {
        package var sessionsMax: Int
        package var acceptPerSecond: Int
        package var acceptBurst: Int
        package var subscriptionsPerSessionMax: Int
        package var liveQueriesMax: Int
        package var sessionBytesMax: Int
        package var resultBytesMax: Int
        package var webSocketFrameBytesMax: Int
        package var initTimeoutMs: Int
        package var pingIntervalMs: Int
        package var pongTimeoutMs: Int
        package var keepAliveMs: Int
        package var longPollMaxMs: Int
        package var sessionsPerUserMax: Int
        package var sessionsPerAddressMax: Int
        package var subscriptionsPerUserMax: Int
        package var subscriptionsPerAddressMax: Int
        package var idleTimeoutMs: Int
        package var rerunTimeoutMs: Int
        package var deltaBytesMax: Int
        package var deltaResultBytesMax: Int
        package var lingerMs: Int
        package var announceRetryMs: Int
        package var summaryMs: Int

        init(_ values: SettingValues) {
            sessionsMax = values.int("gateway.sessionsMax")
            acceptPerSecond = values.int("gateway.acceptPerSecond")
            acceptBurst = values.int("gateway.acceptBurst")
            subscriptionsPerSessionMax = values.int("gateway.subscriptionsPerSessionMax")
            liveQueriesMax = values.int("gateway.liveQueriesMax")
            sessionBytesMax = values.int("gateway.sessionBytesMax")
            resultBytesMax = values.int("gateway.resultBytesMax")
            webSocketFrameBytesMax = values.int("gateway.webSocketFrameBytesMax")
            initTimeoutMs = values.int("gateway.initTimeoutMs")
            pingIntervalMs = values.int("gateway.pingIntervalMs")
            pongTimeoutMs = values.int("gateway.pongTimeoutMs")
            keepAliveMs = values.int("gateway.keepAliveMs")
            longPollMaxMs = values.int("gateway.longPollMaxMs")
            sessionsPerUserMax = values.int("gateway.sessionsPerUserMax")
            sessionsPerAddressMax = values.int("gateway.sessionsPerAddressMax")
            subscriptionsPerUserMax = values.int("gateway.subscriptionsPerUserMax")
            subscriptionsPerAddressMax = values.int("gateway.subscriptionsPerAddressMax")
            idleTimeoutMs = values.int("gateway.idleTimeoutMs")
            rerunTimeoutMs = values.int("gateway.rerunTimeoutMs")
            deltaBytesMax = values.int("gateway.deltaBytesMax")
            deltaResultBytesMax = values.int("gateway.deltaResultBytesMax")
            lingerMs = values.int("gateway.lingerMs")
            announceRetryMs = values.int("gateway.announceRetryMs")
            summaryMs = values.int("gateway.summaryMs")
        }
    }

    package struct API: Sendable, Hashable {
        package var requestsInFlightMax: Int
        package var requestsPerUserMax: Int
        package var requestsPerAddressMax: Int

        init(_ values: SettingValues) {
            requestsInFlightMax = values.int("api.requestsInFlightMax")
            requestsPerUserMax = values.int("api.requestsPerUserMax")
            requestsPerAddressMax = values.int("api.requestsPerAddressMax")
        }
    }

    package struct Outbox: Sendable, Hashable {
        package var sweepMs: Int
        package var sweepAgeMs: Int
        package var batchMax: Int
        package var deleteBatchMs: Int
        package var rowsMax: Int
        package var alarmRows: Int
        package var alarmAgeMs: Int

        init(_ values: SettingValues) {
            sweepMs = values.int("outbox.sweepMs")
            sweepAgeMs = values.int("outbox.sweepAgeMs")
            batchMax = values.int("outbox.batchMax")
            deleteBatchMs = values.int("outbox.deleteBatchMs")
            rowsMax = values.int("outbox.rowsMax")
            alarmRows = values.int("outbox.alarmRows")
            alarmAgeMs = values.int("outbox.alarmAgeMs")
        }
    }

    package struct Auth: Sendable, Hashable {
        package enum Mode: String, Sendable, CaseIterable {
            case none, firebase, jwks, hs256
        }

        package var mode: Mode
        /// Nil when empty.
        package var projectId: String?
        /// Nil when empty.
        package var audience: String?
        /// Nil when empty.
        package var issuer: String?
        /// Nil when empty.
        package var jwksFile: String?
        /// Nil when empty.
        package var jwksUrl: String?
        package var jwksRefreshMs: Int
        /// Nil when empty.
        package var hs256Secret: String?
        package var leewayMs: Int
        package var expiryRequired: Bool
        package var unsignedAllowed: Bool
        /// Nil when empty.
        package var issuersFile: String?
        /// Nil when empty.
        package var apiKeysFile: String?
        package var apiKeyRequired: Bool
        package var filesPollMs: Int
        package var revocationsMax: Int
        package var revocationsPollMs: Int

        init(_ values: SettingValues) {
            mode = values.choice("auth.mode")
            projectId = values.text("auth.projectId")
            audience = values.text("auth.audience")
            issuer = values.text("auth.issuer")
            jwksFile = values.text("auth.jwksFile")
            jwksUrl = values.text("auth.jwksUrl")
            jwksRefreshMs = values.int("auth.jwksRefreshMs")
            hs256Secret = values.text("auth.hs256Secret")
            leewayMs = values.int("auth.leewayMs")
            expiryRequired = values.bool("auth.expiryRequired")
            unsignedAllowed = values.bool("auth.unsignedAllowed")
            issuersFile = values.text("auth.issuersFile")
            apiKeysFile = values.text("auth.apiKeysFile")
            apiKeyRequired = values.bool("auth.apiKeyRequired")
            filesPollMs = values.int("auth.filesPollMs")
            revocationsMax = values.int("auth.revocationsMax")
            revocationsPollMs = values.int("auth.revocationsPollMs")
        }
    }

    package struct Drain: Sendable, Hashable {
        package var delayMs: Int
        package var sessionsMs: Int
        package var graceMs: Int

        init(_ values: SettingValues) {
            delayMs = values.int("drain.delayMs")
            sessionsMs = values.int("drain.sessionsMs")
            graceMs = values.int("drain.graceMs")
        }
    }

    package struct Deploy: Sendable, Hashable {
        package var pollMs: Int
        package var keepMs: Int
        package var moveMs: Int
        package var lockTimeoutMs: Int
        package var versionsMax: Int
        package var historyMax: Int

        init(_ values: SettingValues) {
            pollMs = values.int("deploy.pollMs")
            keepMs = values.int("deploy.keepMs")
            moveMs = values.int("deploy.moveMs")
            lockTimeoutMs = values.int("deploy.lockTimeoutMs")
            versionsMax = values.int("deploy.versionsMax")
            historyMax = values.int("deploy.historyMax")
        }
    }

    package struct Migrate: Sendable, Hashable {
        package var lockTimeoutMs: Int
        package var lockPauseMs: Int
        package var lockTotalMs: Int
        package var waitMs: Int

        init(_ values: SettingValues) {
            lockTimeoutMs = values.int("migrate.lockTimeoutMs")
            lockPauseMs = values.int("migrate.lockPauseMs")
            lockTotalMs = values.int("migrate.lockTotalMs")
            waitMs = values.int("migrate.waitMs")
        }
    }

    package struct Resolvers: Sendable, Hashable {
        package var inFlightMax: Int
        package var answerBytesMax: Int

        init(_ values: SettingValues) {
            inFlightMax = values.int("resolvers.inFlightMax")
            answerBytesMax = values.int("resolvers.answerBytesMax")
        }
    }

    package struct Embeddings: Sendable, Hashable {
        package enum Format: String, Sendable, CaseIterable {
            case openai, vertex
        }

        /// Nil when empty.
        package var url: String?
        package var format: Format
        /// Nil when empty.
        package var token: String?
        package var models: [String]
        package var timeoutMs: Int
        package var inFlightMax: Int
        package var waitersMax: Int
        package var waitingTextsMax: Int
        package var waitingBytesMax: Int
        package var answerBytesMax: Int
        package var textsPerRequestMax: Int
        package var textBytesMax: Int
        package var cacheEntriesMax: Int
        package var cacheBytesMax: Int

        /// What the server calls the models of operations, by what these call them. Nil when an entry is none.
        package var serverModels: [String: String]? {
            var names: [String: String] = [:]
            for entry in models {
                guard let position = entry.firstIndex(of: "="), position != entry.startIndex else { return nil }
                let name = entry[entry.index(after: position)...]
                if name.isEmpty || names.updateValue(String(name), forKey: String(entry[..<position])) != nil {
                    return nil
                }
            }
            return names
        }

        init(_ values: SettingValues) {
            url = values.text("embeddings.url")
            format = values.choice("embeddings.format")
            token = values.text("embeddings.token")
            models = values.list("embeddings.models")
            timeoutMs = values.int("embeddings.timeoutMs")
            inFlightMax = values.int("embeddings.inFlightMax")
            waitersMax = values.int("embeddings.waitersMax")
            waitingTextsMax = values.int("embeddings.waitingTextsMax")
            waitingBytesMax = values.int("embeddings.waitingBytesMax")
            answerBytesMax = values.int("embeddings.answerBytesMax")
            textsPerRequestMax = values.int("embeddings.textsPerRequestMax")
            textBytesMax = values.int("embeddings.textBytesMax")
            cacheEntriesMax = values.int("embeddings.cacheEntriesMax")
            cacheBytesMax = values.int("embeddings.cacheBytesMax")
        }
    }
}
