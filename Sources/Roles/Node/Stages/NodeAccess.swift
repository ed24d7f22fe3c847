import Admin
import Broker
import Cluster
import Gateway
import Execution
import LiveModel
import Logging
import OutboundHTTP
import Pacing
import Settings
import Streams
import Tokens

/// The stage of a start that reads the issuers of tokens, the API keys and the rules of the admin port. It needs no
/// closing.
struct NodeAccess: Sendable {
    let node: NodeContext
    let issuers: TokenIssuers
    let apiKeys: APIKeys
    /// The decision who may use the admin port.
    let admin: AdminAccess

    static func open(_ node: NodeContext, _ sender: HTTPSender) async throws(NodeError) -> NodeAccess {
        let downloads = KeyDownloads(sender)
        let issuers = try await openIssuers(node, downloads)
        return NodeAccess(
            node: node, issuers: issuers, apiKeys: try openAPIKeys(node), admin: try await openAdmin(node, downloads))
    }

    private static func openAdmin(
        _ node: NodeContext, _ downloads: KeyDownloads
    ) async throws(NodeError) -> AdminAccess {
        let admin = node.settings.admin
        guard admin.authMode == .oidc, node.roles.contains(.admin) else { return AdminAccess(token: admin.token) }
        let rule: AdminRule
        let writeRule: AdminRule?
        do throws(AdminRule.Invalid) {
            rule = try AdminRule(admin.rule ?? "false", setting: "admin.rule")
            writeRule = try admin.writeRule.map { source throws(AdminRule.Invalid) in
                try AdminRule(source, setting: "admin.writeRule")
            }
        } catch {
            throw NodeError("\(error)")
        }
        let verifier: TokenVerifier
        do throws(TokenSetupError) {
            verifier = try await TokenVerifier(TokenPolicy(admin, node.settings.auth, downloads))
        } catch {
            throw NodeError("admin.auth: \(error)")
        }
        do throws(TokenSetupError) {
            try await verifier.loadKeys(nowMs: node.clock.nowMs())
        } catch {
            // As for users of the service: an unreachable provider must not keep the node from starting.
            guard admin.authJwksFile == nil else { throw NodeError("admin.auth: \(error)") }
            node.logger.warning(
                "keys for the admin port could not be fetched yet",
                metadata: ["issuer": "\(admin.authIssuer ?? "")", "error": "\(error)"])
        }
        return AdminAccess(
            token: admin.token, users: AdminAccess.Users(verifier: verifier, rule: rule, writeRule: writeRule))
    }

    private static func openIssuers(
        _ node: NodeContext, _ downloads: KeyDownloads
    ) async throws(NodeError) -> TokenIssuers {
        let settings = node.settings
        var entries: [IssuerEntry] = []
        if let path = settings.auth.issuersFile {
            do {
                entries = try IssuerFile.parse(try FileText.read(path), allowsHTTP: settings.profile == .dev)
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
        for (issuer, error) in await issuers.loadKeys(nowMs: node.clock.nowMs()) {
            // An invalid file is the operator's mistake; an unreachable provider must not keep the node from starting.
            let isFile =
                issuer.isEmpty
                ? settings.auth.jwksFile != nil : entries.contains { $0.issuer == issuer && $0.jwksFile != nil }
            guard !isFile else { throw NodeError("auth: \(error)") }
            node.logger.warning(
                "token keys could not be fetched yet", metadata: ["issuer": "\(issuer)", "error": "\(error)"])
        }
        return issuers
    }

    private static func openAPIKeys(_ node: NodeContext) throws(NodeError) -> APIKeys {
        let auth = node.settings.auth
        let keys = APIKeys(isOn: auth.apiKeysFile != nil, isRequired: auth.apiKeyRequired)
        guard let path = auth.apiKeysFile else { return keys }
        do {
            try APIKeyFileReader(path: path, keys: keys).read()
        } catch {
            throw NodeError("auth.apiKeysFile \(path): \(error)")
        }
        return keys
    }

    func authenticator(_ revocations: RevocationList) -> NodeAuthenticator {
        NodeAuthenticator(issuers: issuers, apiKeys: apiKeys, revocations: revocations, clock: node.clock)
    }

    /// Polls the revocations and ends the sessions of revoked clients, until the task is cancelled.
    func followRevocations(_ revocations: RevocationList, _ sessions: SessionRegistry) async {
        let logger = node.logger
        var failure = RepeatedFailure()
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(node.revocationSettings.pollMs))
            do throws(BrokerError) {
                if try await revocations.refresh() {
                    logger.info("revocations changed", metadata: ["count": "\(revocations.current.entries.count)"])
                    sessions.recheckIdentities()
                }
            } catch {
                guard error.code != .closed,
                    let leftOut = failure.failed("\(error)", nowMs: node.clock.nowMs())
                else { continue }
                logger.warning(
                    "the revocations could not be read; the previous ones stay in force",
                    metadata: ["error": "\(error)", "notLogged": "\(leftOut)"])
            }
        }
    }

    /// Polls the invalidations and tells sessions, until the task is cancelled.
    func followInvalidations(_ list: InvalidationList, _ sessions: SessionRegistry) async {
        var failure = RepeatedFailure()
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(node.settings.gateway.invalidationsPollMs))
            do throws(BrokerError) {
                if try await list.refresh() { sessions.invalidate(list.current) }
            } catch {
                guard error.code != .closed, let leftOut = failure.failed("\(error)", nowMs: node.clock.nowMs())
                else { continue }
                node.logger.warning(
                    "the invalidations could not be read; clients learn them later",
                    metadata: ["error": "\(error)", "notLogged": "\(leftOut)"])
            }
        }
    }

    /// Reloads the file of API keys when it changes, until the task is cancelled; an invalid file changes nothing.
    func followAPIKeys(_ sessions: SessionRegistry) async {
        guard let path = node.settings.auth.apiKeysFile else { return }
        let (reader, logger) = (APIKeyFileReader(path: path, keys: apiKeys), node.logger)
        var failure = RepeatedFailure()
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(node.settings.auth.filesPollMs))
            do {
                if try reader.read() {
                    logger.info("API keys changed")
                    sessions.recheckIdentities()
                }
            } catch {
                guard let leftOut = failure.failed("\(error)", nowMs: node.clock.nowMs()) else { continue }
                logger.error(
                    "auth.apiKeysFile could not be read; the previous keys stay in force",
                    metadata: ["error": "\(error)", "notLogged": "\(leftOut)"])
            }
        }
    }
}
