/// All settings, typed and checked. Names, units, ranges and defaults are those of `SettingTable`; the members are
/// variables so that a test can start from the defaults and change one.
package struct Settings: Sendable, Hashable {
    package var profile: SettingProfile
    package var cluster: Cluster
    package var http: HTTP
    package var postgres: Postgres
    package var redis: Redis
    package var worker: Worker
    package var gateway: Gateway
    package var api: API
    package var outbox: Outbox
    package var auth: Auth
    package var admin: Admin
    package var drain: Drain
    package var deploy: Deploy
    package var migrate: Migrate
    package var resolvers: Resolvers
    package var embeddings: Embeddings
    package var log: Log
    package var dev: Dev
    package var limits: Limits

    /// The defaults.
    package init(profile: SettingProfile = .serve) {
        self.init(SettingValues(standardIn: profile), profile: profile)
    }

    init(_ values: SettingValues, profile: SettingProfile) {
        self.profile = profile
        cluster = Cluster(values)
        http = HTTP(values)
        postgres = Postgres(values)
        redis = Redis(values)
        worker = Worker(values)
        gateway = Gateway(values)
        api = API(values)
        outbox = Outbox(values)
        auth = Auth(values)
        admin = Admin(values)
        drain = Drain(values)
        deploy = Deploy(values)
        migrate = Migrate(values)
        resolvers = Resolvers(values)
        embeddings = Embeddings(values)
        log = Log(values)
        dev = Dev(values)
        limits = Limits(values)
    }
}

/// A value for every key of the table, of the key's kind.
struct SettingValues {
    private var byPath: [String: SettingValue]
    private let observe: (@Sendable (String) -> Void)?

    /// `observe` is told every path that is read.
    init(standardIn profile: SettingProfile, observe: (@Sendable (String) -> Void)? = nil) {
        byPath = SettingTable.byPath.mapValues { $0.standard(in: profile) }
        self.observe = observe
    }

    mutating func set(_ value: SettingValue, for key: SettingKey) {
        byPath[key.path] = value
    }

    subscript(path: String) -> SettingValue? {
        observe?(path)
        return byPath[path]
    }

    // A path that the table does not have, or has with another kind, is a slip in this module that no input can
    // reach: reading the defaults, as every test does, meets all of them.

    func int(_ path: String) -> Int {
        guard case .int(let value)? = self[path] else { preconditionFailure("no whole number \(path)") }
        return value
    }

    func bool(_ path: String) -> Bool {
        guard case .bool(let value)? = self[path] else { preconditionFailure("no truth value \(path)") }
        return value
    }

    func string(_ path: String) -> String {
        guard case .string(let value)? = self[path] else { preconditionFailure("no text \(path)") }
        return value
    }

    /// Nil if empty.
    func text(_ path: String) -> String? {
        let value = string(path)
        return value.isEmpty ? nil : value
    }

    func list(_ path: String) -> [String] {
        guard case .stringList(let value)? = self[path] else { preconditionFailure("no list \(path)") }
        return value
    }

    /// For choices: the table allows exactly the cases.
    func choice<Choice: RawRepresentable<String>>(_ path: String, _: Choice.Type = Choice.self) -> Choice {
        guard let value = Choice(rawValue: string(path)) else { preconditionFailure("no choice \(path)") }
        return value
    }
}
