import ArgumentParser
import Catalog
import Deployments
import Logging
import Settings

struct Deploy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Gives a running cluster a new version of the project.",
        discussion: """
            Checks the folder, compares it with what is served and with the database, and refuses what would break \
            clients or lose data. Then: missing tables and columns are added; the version is announced, and every node \
            loads it; when all have, it becomes current: new requests and sessions get it. Sessions that began with the \
            former version keep it for deploy.keepMs and are then told to come back, over deploy.moveMs.
            """)

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String?

    @Flag(help: "List what was deployed and which nodes serve it.")
    var list = false

    @Flag(help: "Deploy the version before the current one again. Findings are told and do not refuse.")
    var rollback = false

    @Flag(help: "Only check and compare.")
    var dryRun = false

    @Flag(help: "Deploy although clients of the served version may break. Never loses data.")
    var allowBreaking = false

    @Option(help: "libpq connection string, instead of the setting postgres.url.")
    var postgres: String?

    @Option(help: "Seconds to wait for the nodes to load it, and again for them to serve it.")
    var timeout = 120

    @OptionGroup var options: SettingsOptions

    func validate() throws {
        guard [project != nil, list, rollback].count(where: { $0 }) == 1 else {
            throw ValidationError("Give a project folder, or --list, or --rollback.")
        }
        guard (1...600).contains(timeout) else { throw ValidationError("--timeout is 1 to 600 seconds.") }
    }

    func run() async {
        // No node with an admin port, whatever the settings shared with nodes say: it needs no admin.token.
        let further = ["cluster.roles=api"] + (postgres.map { ["postgres.url=\($0)"] } ?? [])
        let settings = options.load(.serve, further: further).settings
        _ = Observation.start(settings)
        let rollout: Rollout
        do {
            rollout = try await Rollout.open(settings, timeoutSeconds: timeout, allowsBreaking: allowBreaking)
        } catch {
            Terminal.fail(Terminal.reason(error))
        }
        do {
            if list {
                try await rollout.list()
            } else if rollback {
                try await rollout.goBack(dryRun: dryRun)
            } else if let project {
                try await rollout.deploy(ProjectLoading.project(at: project), dryRun: dryRun)
            }
        } catch {
            await rollout.close()
            Terminal.fail(Terminal.reason(error))
        }
        await rollout.close()
    }
}

/// Why nothing, or not everything, was done.
struct RolloutRefused: Error, CustomStringConvertible {
    let description: String
}
