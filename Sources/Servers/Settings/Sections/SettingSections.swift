/// A section of the settings file. Its stored members are its settings, in the order in which they are documented.
package protocol SettingSection: Sendable {
    /// The sentence above the section in the reference.
    static var doc: String { get }
    static var declared: Self { get }
}

/// All sections, in the order in which they are documented. A member's name is the section's.
package struct SettingSections: Sendable {
    package let cluster = ClusterSection.declared
    package let http = HTTPSection.declared
    package let postgres = PostgresSection.declared
    package let redis = RedisSection.declared
    package let worker = WorkerSection.declared
    package let gateway = GatewaySection.declared
    package let api = APISection.declared
    package let outbox = OutboxSection.declared
    package let tailer = TailerSection.declared
    package let auth = AuthSection.declared
    package let admin = AdminSection.declared
    package let inspect = InspectSection.declared
    package let trace = TraceSection.declared
    package let lag = LagSection.declared
    package let drain = DrainSection.declared
    package let deploy = DeploySection.declared
    package let migrate = MigrateSection.declared
    package let resolvers = ResolversSection.declared
    package let embeddings = EmbeddingsSection.declared
    package let log = LogSection.declared
    package let dev = DevSection.declared
    package let limits = LimitsSection.declared
}
