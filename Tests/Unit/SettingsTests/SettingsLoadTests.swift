import FoundationEssentials
import LiveModel
import Streams
import TestSupport
import Testing

@testable internal import Settings

/// The lines of the error that loading ends with; none if it succeeds.
private func problems(
    profile: SettingProfile = .serve, file: String? = nil, environment: [String: String] = [:],
    overrides: [String] = []
) -> [String] {
    do throws(SettingsError) {
        _ = try Settings.load(profile: profile, fileText: file, environment: environment, overrides: overrides)
        return []
    } catch {
        return error.description.split(separator: "\n").map(String.init)
    }
}

@Suite("Loading settings")
struct SettingsLoadTests {
    @Test("flags go before environment, environment before file, file before default")
    func precedence() throws {
        let file = """
            http:
              port: 1001
              host: "file"
              connectionsMax: 11
            """
        let loaded = try Settings.load(
            fileText: file, environment: ["FRESHET_HTTP_PORT": "1002", "FRESHET_HTTP_HOST": "environment"],
            overrides: ["http.port=1003"])
        #expect(loaded.settings.http.port == 1003)
        #expect(loaded.settings.http.host == "environment")
        #expect(loaded.settings.http.connectionsMax == 11)
        #expect(loaded.settings.http.eventLoops == 0)
        let origins = Dictionary(uniqueKeysWithValues: loaded.values.map { ($0.key.path, $0.origin) })
        #expect(origins["http.port"] == "--set http.port")
        #expect(origins["http.host"] == "environment FRESHET_HTTP_HOST")
        #expect(origins["http.connectionsMax"] == "freshet.yaml:4")
        #expect(origins["http.eventLoops"] == "default")
        #expect(loaded.isGiven("http.port") && !loaded.isGiven("http.eventLoops"))
    }

    @Test("the last of two flags for one setting wins; a value may hold an equals sign")
    func flags() throws {
        let settings = try Settings.load(
            overrides: ["http.port=1", "http.port=2", "postgres.url=host=/tmp dbname=a"]
        ).settings
        #expect(settings.http.port == 2)
        #expect(settings.postgres.url == "host=/tmp dbname=a")
    }

    @Test("lists come from YAML lists, YAML texts, variables and flags alike")
    func lists() throws {
        let expected: Set<Role> = [.worker, .api]
        #expect(try Settings.load(fileText: "cluster: {roles: [worker, api]}").settings.cluster.roles == expected)
        #expect(try Settings.load(fileText: "cluster: {roles: 'worker, api'}").settings.cluster.roles == expected)
        #expect(
            try Settings.load(environment: ["FRESHET_CLUSTER_ROLES": "worker, api,"]).settings.cluster.roles == expected
        )
        #expect(try Settings.load(overrides: ["cluster.roles=worker,api"]).settings.cluster.roles == expected)
        #expect(try Settings.load(overrides: ["http.corsOrigins="]).settings.http.corsOrigins == [])
    }

    @Test(
        "durations and sizes take units",
        arguments: [
            ("gateway.lingerMs=1500", 1500), ("gateway.lingerMs=1500ms", 1500), ("gateway.lingerMs=2s", 2000),
            ("gateway.lingerMs=5 m", 300_000), ("gateway.lingerMs=1h", 3_600_000), ("gateway.lingerMs=10_000", 10_000),
        ])
    func durations(text: String, expected: Int) throws {
        #expect(try Settings.load(overrides: [text]).settings.gateway.lingerMs == expected)
    }

    @Test func sizesHaveBinaryUnits() throws {
        #expect(
            try Settings.load(overrides: ["gateway.resultBytesMax=64KiB"]).settings.gateway.resultBytesMax == 65_536)
        #expect(
            try Settings.load(overrides: ["gateway.resultBytesMax=2 MiB"]).settings.gateway.resultBytesMax == 2 << 20)
        #expect(
            problems(overrides: ["gateway.resultBytesMax=9999999999999GiB"]) == [
                "--set gateway.resultBytesMax: gateway.resultBytesMax must be a number of bytes (or KiB, MiB, GiB), "
                    + "not \"9999999999999GiB\""
            ])
    }

    @Test(
        "true, yes, off and 0 are Booleans", arguments: [("true", true), ("Yes", true), ("off", false), ("0", false)])
    func booleans(text: String, expected: Bool) throws {
        #expect(
            try Settings.load(profile: .dev, overrides: ["auth.unsignedAllowed=\(text)"]).settings.auth.unsignedAllowed
                == expected)
    }

    @Test("all mistakes are reported together, each with its origin")
    func allTogether() {
        let file = """
            # comment
            http:
              port: 70000
              prot: 1
            gatway:
              lingerMs: 1
            gateway:
              lingerMs: soon
            """
        let lines = problems(
            file: file, environment: ["FRESHET_LOG_LEVEL": "inform"], overrides: ["port=1", "http.host"])
        #expect(
            lines == [
                "freshet.yaml:4: unknown setting http.prot; did you mean http.port?",
                "freshet.yaml:5: unknown setting gatway; did you mean gateway?",
                "--set port: unknown setting port; did you mean http.port?",
                "--set: takes key=value, not \"http.host\"",
                "freshet.yaml:3: http.port is 70000, allowed is 0 to 65535",
                "freshet.yaml:8: gateway.lingerMs must be a number of milliseconds (or ms, s, m, h), not \"soon\"",
                "environment FRESHET_LOG_LEVEL: log.level is \"inform\", allowed is trace, debug, info, notice, "
                    + "warning, error or critical; did you mean info?",
            ])
    }

    @Test("an unknown variable is refused, those of Kubernetes service links are not")
    func unknownEnvironment() {
        #expect(
            problems(environment: ["FRESHET_HTTP_PROT": "1", "OTHER_HTTP_PROT": "1"]) == [
                "environment FRESHET_HTTP_PROT: no setting has this name; did you mean FRESHET_HTTP_PORT?"
            ])
        #expect(problems(environment: ["FRESHET_HTPP_PORT": "9399", "FRESHET_PORT_TCP": "1"]).count == 2)
        #expect(
            problems(environment: [
                "FRESHET_CONFIG": "x", "FRESHET_SERVICE_HOST": "10.0.0.1", "FRESHET_SERVICE_PORT": "9399",
                "FRESHET_SERVICE_PORT_HTTP": "9399", "FRESHET_PORT": "tcp://10.0.0.1:9399",
                "FRESHET_PORT_9399_TCP": "tcp://10.0.0.1:9399", "FRESHET_PORT_9399_TCP_ADDR": "10.0.0.1",
                "FRESHET_HTTP_PORT": "tcp://10.0.0.1:9399", "FRESHET_HTTP_PORT_9399_TCP_PROTO": "tcp",
            ]) == [])
    }

    @Test("an empty variable counts as not set")
    func emptyVariable() throws {
        #expect(
            try Settings.load(fileText: "http: {port: 7}", environment: ["FRESHET_HTTP_PORT": ""]).settings.http.port
                == 7)
    }

    @Test(
        "errors in a file have its line",
        arguments: [
            ("http:\n  port: [1]\n", "freshet.yaml:2: http.port takes one value, not a list"),
            ("http:\n  port: {a: 1}\n", "freshet.yaml:2: http.port takes a value, not a section"),
            ("http:\n  port:\n", "freshet.yaml:2: http.port has no value"),
            ("http: 7\n", "freshet.yaml:1: http is a section and takes settings, not a value"),
            ("- http\n", "freshet.yaml:1: the file must be a mapping of sections"),
            ("http:\n  port: 1\nhttp.port: 2\n", "freshet.yaml:3: http.port is set a second time"),
            ("cluster:\n  roles: [[api]]\n", "freshet.yaml:2: cluster.roles takes a list of single values"),
        ])
    func fileShapes(text: String, expected: String) {
        #expect(problems(file: text) == [expected])
    }

    @Test("text that is no YAML, and doubled keys, are one line each")
    func notYAML() {
        let broken = problems(file: "http:\n  port: \"1\n")
        #expect(broken.count == 1 && broken[0].hasPrefix("freshet.yaml:"), "\(broken)")
        let doubled = problems(file: "http:\n  port: 1\n  port: 2\n")
        #expect(doubled.count == 1 && doubled[0].contains("set a second time"), "\(doubled)")
        #expect(problems(file: "# \(String(repeating: "x", count: SettingsFile.bytesMax))").count == 1)
    }

    @Test("an anchor stands for its value")
    func anchors() throws {
        let settings = try Settings.load(fileText: "http: {host: &a 127.0.0.2}\nadmin: {host: *a}").settings
        #expect(settings.admin.host == "127.0.0.2")
        #expect(problems(file: "http: &a {port: 1}\nadmin: {<<: *a}").count == 1)
    }

    @Test("an empty file and empty sections change nothing", arguments: ["", "# nothing\n", "http:\nredis: ~\n"])
    func emptyFile(text: String) throws {
        #expect(try Settings.load(fileText: text).settings == Settings())
    }

    @Test("a setting for dev only is refused by serve")
    func devOnly() throws {
        #expect(
            problems(overrides: ["auth.unsignedAllowed=true"]) == [
                "--set auth.unsignedAllowed: auth.unsignedAllowed is only for freshet dev"
            ])
        #expect(problems(overrides: ["auth.unsignedAllowed=false"]) == [])
        #expect(try Settings.load(profile: .dev).settings.auth.unsignedAllowed)
        #expect(try !Settings.load(profile: .dev, overrides: ["auth.unsignedAllowed=no"]).settings.auth.unsignedAllowed)
        #expect(Settings(profile: .dev).worker.everyMinimumMs < Settings(profile: .serve).worker.everyMinimumMs)
    }

    /// The setting has the rule of the keys that are made of it.
    @Test func namespacesFollowTheRuleOfKeys() {
        let longest = String(repeating: "a", count: Keys.namespaceLengthMax)
        for good in ["fr", "shop.eu-1_b", longest] {
            #expect(problems(overrides: ["cluster.namespace=\(good)"]) == [])
        }
        #expect(problems(overrides: ["cluster.namespace=\(longest)a"]).count == 1)
    }

    private static let badEmbeddingURL =
        "embeddings.url must be a URL without user, query or fragment, because paths are appended to it"
    private static let badEmbeddingToken =
        "embeddings.token must be visible ASCII characters, without spaces and line breaks"

    @Test(
        "settings that contradict each other",
        arguments: [
            (["cluster.namespace={a}"], "cluster.namespace must be 1 to 64 letters, digits, dots, - or _"),
            (["cluster.roles="], "cluster.roles is empty; a node needs at least one role"),
            (["cluster.nodeTtlMs=1500"], "cluster.nodeTtlMs must be at least twice cluster.heartbeatMs"),
            (["cluster.leaseTtlMs=1500"], "cluster.leaseTtlMs must be at least twice cluster.leaseRenewMs"),
            (["admin.port=9399"], "http.port and admin.port are the same"),
            (
                ["http.trustedProxies=10.0.0.0/8,nonsense"],
                "http.trustedProxies takes addresses and networks such as 10.0.0.0/8"
            ),
            (
                ["http.uncountedAddresses=10.0.0.0/99"],
                "http.uncountedAddresses takes addresses and networks such as 10.0.0.0/8"
            ),
            (["admin.host=0.0.0.0"], "admin.token must be set when admin.host is not a loopback address"),
            (["auth.mode=firebase"], "auth.mode firebase needs auth.projectId"),
            (["auth.mode=jwks"], "auth.mode jwks needs auth.jwksFile or auth.jwksUrl"),
            (["auth.jwksUrl=http://a"], "auth.jwksUrl must begin with https://"),
            (["auth.mode=hs256"], "auth.mode hs256 needs auth.hs256Secret of 32 bytes or more"),
            (
                ["redis.sentinel.addresses=a", "redis.sentinel.master=m", "redis.cluster.addresses=b"],
                "redis.sentinel.addresses and redis.cluster.addresses exclude each other"
            ),
            (["redis.sentinel.addresses=a"], "redis.sentinel.addresses and redis.sentinel.master must be set together"),
            (
                ["redis.cluster.addresses=a", "redis.url=unix:///s"],
                "redis.url must begin with redis:// or rediss:// when sentinel or cluster addresses are set"
            ),
            (
                ["redis.url=rediss://a", "redis.tls.keyFile=k"],
                "redis.tls.certificateFile and redis.tls.keyFile must be set together"
            ),
            (["redis.tls.caFile=c"], "redis.tls is set, but redis.url does not begin with rediss://"),
            (["postgres.reconnectMinMs=9s"], "postgres.reconnectMaxMs is less than postgres.reconnectMinMs"),
            (["embeddings.url=localhost:11434"], "embeddings.url must begin with http:// or https://"),
            (["embeddings.url=http://"], badEmbeddingURL),
            (["embeddings.url=https://a b/v1"], badEmbeddingURL),
            (["embeddings.url=https://a/v1?key=x"], badEmbeddingURL),
            (["embeddings.url=https://me:word@a/v1"], badEmbeddingURL),
            (["embeddings.url=http://a:11434/v1", "embeddings.token=a b"], badEmbeddingToken),
            (["embeddings.url=http://a:11434/v1/", "embeddings.token=ab\n"], badEmbeddingToken),
            (["embeddings.token=schlüssel"], badEmbeddingToken),
            (
                ["embeddings.url=http://a", "api.requestsInFlightMax=256"],
                "embeddings.waitersMax must be less than api.requestsInFlightMax"
            ),
            (
                ["embeddings.models=a=b,c"],
                "embeddings.models must list entries such as textembedding-gecko@003=nomic-embed-text, each model once"
            ),
            (
                ["embeddings.models=a=b,a=c"],
                "embeddings.models must list entries such as textembedding-gecko@003=nomic-embed-text, each model once"
            ),
            (
                ["http.bodiesBytesMax=11MiB"], "http.bodiesBytesMax must be at least three times http.bodyBytesMax"
            ),
            (["http.bodyBytesMax=1KiB"], "limits.variablesBytesMax is greater than http.bodyBytesMax allows"),
        ])
    func contradictions(overrides: [String], expected: String) {
        #expect(problems(overrides: overrides) == [expected])
    }

    @Test("the file is read from disk, or its absence reported")
    func fromDisk() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path + "/mine.yaml"
        try Data("http: {port: 4}".utf8).write(to: URL(filePath: path))
        #expect(try Settings.load(path: path, environment: [:]).settings.http.port == 4)
        let named = try Settings.load(path: nil, environment: ["FRESHET_CONFIG": path])
        #expect(named.settings.http.port == 4)
        #expect(named.values.contains { $0.origin == "mine.yaml:1" })
        #expect(throws: SettingsError.self) { try Settings.load(path: path + ".gone", environment: [:]) }
        try Data([0xFF, 0xFE]).write(to: URL(filePath: path))
        #expect(throws: SettingsError.self) { try Settings.load(path: path, environment: [:]) }
    }

    @Test("printed settings can be loaded again and hold no secret")
    func printed() throws {
        let secret = "0123456789abcdef0123456789abcdef\"#"
        let loaded = try Settings.load(
            fileText: "http: {host: 'a\"\\b'}",
            environment: ["FRESHET_AUTH_HS256_SECRET": secret, "FRESHET_POSTGRES_URL": "postgresql://u:hidden@h/d"],
            overrides: ["auth.mode=hs256", "http.port=12"])
        let text = loaded.text
        #expect(!text.contains(secret.prefix(10)) && !text.contains("hidden"))
        #expect(text.contains("hs256Secret: set, secret"))
        #expect(text.contains("  port: 12 ") && text.contains("# --set http.port\n"))
        let again = try Settings.load(fileText: text, overrides: ["auth.hs256Secret=\(secret)"])
        #expect(again.settings.http.host == "a\"\\b" && again.settings.http.port == 12)
        #expect(again.settings.auth.hs256Secret == loaded.settings.auth.hs256Secret)
    }

    @Test("a secret is not repeated in a message about it")
    func secretsInMessages() throws {
        let key = SettingKey(
            "test.pin", kind: .int, standard: .int(1), allowed: .ints(1...9), secret: true, doc: "A secret number.")
        let error = #expect(throws: SettingKey.ValueError.self) { try key.parse(.text("hunter2")) }
        #expect(error?.message == "must be a whole number")
    }
}

@Suite("Did you mean")
struct SuggestionTests {
    @Test(arguments: [("prot", 1), ("port", 0), ("ports", 1), ("part", 1), ("", 4)])
    func distancesCountEdits(word: String, expected: Int) {
        #expect(Suggestion.distance(Array(word.utf8), Array("port".utf8)) == expected)
    }

    @Test("nothing is suggested for what resembles nothing")
    func farAway() {
        #expect(Suggestion.nearest(to: "quux", in: ["port", "host"]) == nil)
        #expect(Suggestion.nearest(to: "HOST", in: ["port", "host"]) == "host")
        #expect(Suggestion.nearest(to: "", in: ["port"]) == nil)
    }
}

@Suite("Secrets from files")
struct SecretFilesTests {
    private func resolved(_ environment: [String: String], _ files: [String: String] = [:]) throws(SettingsError)
        -> [String: String]
    {
        try SecretFiles.resolved(environment) { path throws(SettingsError) in
            guard let text = files[path] else {
                throw SettingsError(problems: [.init(origin: path, message: "cannot be read")])
            }
            return text
        }
    }

    @Test("the text takes the place of the path, without the line's end")
    func text() throws {
        let environment = ["FRESHET_POSTGRES_URL_FILE": "/p", "FRESHET_ADMIN_TOKEN_FILE": "", "FRESHET_HTTP_PORT": "1"]
        let found = try resolved(environment, ["/p": "postgresql://a b\r\n\n"])
        #expect(found == ["FRESHET_POSTGRES_URL": "postgresql://a b", "FRESHET_HTTP_PORT": "1"])
    }

    @Test("mistakes name the variable and never the secret")
    func mistakes() {
        func message(_ environment: [String: String], _ files: [String: String] = [:]) -> String {
            do throws(SettingsError) {
                return "\(try resolved(environment, files))"
            } catch {
                return error.description
            }
        }
        #expect(
            message(["FRESHET_REDIS_URL_FILE": "/none"]) == "environment FRESHET_REDIS_URL_FILE: /none cannot be read")
        #expect(
            message(["FRESHET_REDIS_URL_FILE": "/e"], ["/e": "\n"])
                == "environment FRESHET_REDIS_URL_FILE: /e is empty")
        let twice = message(["FRESHET_REDIS_URL_FILE": "/r", "FRESHET_REDIS_URL": "redis://secret"], ["/r": "secret"])
        #expect(twice == "environment FRESHET_REDIS_URL_FILE: FRESHET_REDIS_URL is set as well; set only one of them")
        let long = String(repeating: "s", count: SecretFiles.bytesMax + 1)
        #expect(!message(["FRESHET_REDIS_URL_FILE": "/l"], ["/l": long]).contains("sss"))
    }

    @Test("a variable for the file of a setting that is no secret is unknown")
    func onlySecrets() {
        #expect(problems(environment: ["FRESHET_HTTP_HOST_FILE": "/h"]).count == 1)
        #expect(problems(environment: ["FRESHET_REDIS_URL_FILE": ""]) == [])
    }
}
