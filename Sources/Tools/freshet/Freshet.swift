import ArgumentParser
import Node

@main
struct Freshet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshet",
        abstract: "Live queries over Postgres: clients subscribe to stored GraphQL queries and get every new result.",
        version: ClusterFormat.release,
        subcommands: [
            Init.self, Dev.self, ClusterCommand.self, Serve.self, Check.self, SchemaCommand.self,
            Generate.self, Explain.self, Rules.self,
            Migrate.self,
            Deploy.self, Execute.self,
            Subscribe.self,
            Load.self, AdminCommand.self, AdminCommand.Top.self, AdminCommand.Tail.self,
            Config.self,
        ])
}
