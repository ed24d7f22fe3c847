import Broker
import Streams
import Cluster
import Gateway
import Execution
import LiveModel
import Logging
import Settings
import Tokens

/// Who is let in: issuers, API keys, revocations.
extension ServiceNode {
    func openIssuers(_ downloads: KeyDownloads) async throws(NodeError) -> TokenIssuers {
        var entries: [IssuerEntry] = []
        if let path = settings.auth.issuersFile {
            do {
                entries = try IssuerFile.parse(
                    try FileText.read(path), allowsHTTP: settings.profile == .dev)
            } catch {
                throw NodeError("auth.issuersFile \(path): \(error)")
            }
        }
        let issuers: TokenIssuers
        do throws(TokenSetupError) {
            issuers = try await TokenIssuers(settings.auth, issuers: entries, downloads: downloads)
        } catch {
            throw NodeError("auth: \(error)")
        }
        for (issuer, error) in await issuers.loadKeys(nowMs: clock.nowMs()) {
            // A file is ours to mend; a provider that is away must not keep the node from starting.
            let isFile =
                issuer.isEmpty
                ? settings.auth.jwksFile != nil : entries.contains { $0.issuer == issuer && $0.jwksFile != nil }
            guard !isFile else { throw NodeError("auth: \(error)") }
            logger.warning(
                "token keys could not be fetched yet", metadata: ["issuer": "\(issuer)", "error": "\(error)"])
        }
        return issuers
    }

    func openAPIKeys() throws(NodeError) -> APIKeys {
        let keys = APIKeys(isOn: settings.auth.apiKeysFile != nil, isRequired: settings.auth.apiKeyRequired)
        guard let path = settings.auth.apiKeysFile else { return keys }
        do {
            try APIKeyFileReader(path: path, keys: keys).read()
        } catch {
            throw NodeError("auth.apiKeysFile \(path): \(error)")
        }
        return keys
    }

    /// Asks the broker until the task is cancelled, and ends the sessions of who is let in no more.
    func followRevocations(_ revocations: RevocationList, _ sessions: SessionRegistry) async {
        var isFailing = false
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(settings.auth.revocationsPollMs))
            do throws(BrokerError) {
                if try await revocations.refresh() {
                    logger.info("revocations changed", metadata: ["count": "\(revocations.current.entries.count)"])
                    sessions.recheckIdentities()
                }
                isFailing = false
            } catch {
                guard !isFailing, error.code != .closed else { continue }
                isFailing = true
                logger.warning("revocations not read, those known count", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Looks at the file of API keys; one that cannot be read or has a mistake changes nothing.
    func followAPIKeys(_ keys: APIKeys, _ sessions: SessionRegistry) async {
        guard let path = settings.auth.apiKeysFile else { return }
        let reader = APIKeyFileReader(path: path, keys: keys)
        var lastError = ""
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(settings.auth.filesPollMs))
            do {
                if try reader.read() {
                    logger.info("API keys changed")
                    sessions.recheckIdentities()
                }
                lastError = ""
            } catch {
                guard "\(error)" != lastError else { continue }
                lastError = "\(error)"
                logger.error("auth.apiKeysFile not read, the keys known count", metadata: ["error": "\(error)"])
            }
        }
    }
}
