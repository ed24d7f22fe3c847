import FoundationEssentials
import LiveModel
import TestSupport
import Testing

@testable internal import Settings

@Suite("The table of settings")
struct SettingTableTests {
    @Test("paths, environment names and sections are unique and known")
    func unique() {
        let keys = SettingTable.keys
        #expect(Set(keys.map(\.path)).count == keys.count)
        #expect(Set(keys.map(\.environmentName)).count == keys.count)
        let sections = SettingTable.sections.map(\.name)
        #expect(Set(sections).count == sections.count)
        #expect(Set(keys.map(\.section)) == Set(sections))
    }

    @Test("every default is within its own range", arguments: SettingProfile.allCases)
    func defaultsAreAllowed(profile: SettingProfile) throws {
        for key in SettingTable.keys {
            let standard = key.standard(in: profile)
            let raw: SettingKey.Raw =
                switch standard {
                case .int(let value): .text(String(value))
                case .bool(let value): .text(String(value))
                case .string(let value): .text(value)
                case .stringList(let values): .list(values)
                }
            #expect(try key.parse(raw) == standard, "\(key.path)")
        }
    }

    @Test("the default settings contradict nothing", arguments: SettingProfile.allCases)
    func defaultsFitTogether(profile: SettingProfile) throws {
        #expect(try Settings.load(profile: profile).settings == Settings(profile: profile))
    }

    @Test("a name ends with the unit that the table states")
    func unitSuffixes() {
        for key in SettingTable.keys {
            let isBytes = key.name.contains(#/(?:BytesMax|BytesMin|[bB]ytesPerSecond)/#)
            #expect(isBytes == (key.unit == .bytes), "\(key.path)")
            let isDuration = key.name.hasSuffix("Ms") || key.name.hasSuffix("MaxMs") || key.name.hasSuffix("MinMs")
            #expect(isDuration == (key.kind == .duration), "\(key.path)")
        }
    }

    @Test("a setting is a member of its section, by its own name")
    func membersMatchPaths() {
        for section in SettingTable.declared {
            for (member, key) in section.settings {
                #expect(key.section == section.name, "\(section.name).\(member)")
                // `tls.keyFile` is the member `tlsKeyFile`.
                let words = key.name.split(separator: ".")
                let name = words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
                #expect(member == name, "\(key.path)")
            }
        }
    }

    @Test("every kind of setting is read and written by its own type")
    func typedAccess() {
        var settings = Settings()
        #expect(settings.postgres.url == nil && settings.redis.url == "redis://127.0.0.1:6379")
        #expect(settings.cluster.roles == Set(Role.allCases) && settings.auth.mode == .none)
        settings.postgres.url = "host=a"
        settings.redis.url = nil
        settings.cluster.roles = [.worker, .api]
        settings.auth.mode = .jwks
        settings.http.corsOrigins = []
        settings.http.port = 1
        settings.redis.tlsVerify = false
        settings.log.level = "debug"
        #expect(settings.postgres.url == "host=a" && settings.redis.url == nil && settings.auth.mode == .jwks)
        #expect(settings.cluster.roles == [.api, .worker] && settings.http.corsOrigins == [])
        #expect(settings.http.port == 1 && !settings.redis.tlsVerify && settings.log.level == "debug")
        #expect(settings.http.host == Settings().http.host && settings != Settings())
    }

    @Test("the lists of choices have an order")
    func choicesInOrder() throws {
        let roles = try #require(SettingTable.byPath["cluster.roles"])
        #expect(roles.standard == .stringList(["api", "worker", "gateway", "admin", "tailer"]))
        #expect(SettingTable.byPath["auth.mode"]?.allowedText == "none, firebase, jwks or hs256")
    }

    @Test("environment names cut at capitals")
    func environmentNames() throws {
        #expect(SettingTable.byPath["http.port"]?.environmentName == "FRESHET_HTTP_PORT")
        #expect(
            SettingTable.byPath["gateway.sessionBytesMax"]?.environmentName == "FRESHET_GATEWAY_SESSION_BYTES_MAX")
        #expect(SettingTable.byPath["auth.hs256Secret"]?.environmentName == "FRESHET_AUTH_HS256_SECRET")
    }

    /// Compares the file, or writes it if UPDATE_REFERENCE is set.
    @Test("config/freshet.yaml is what the table makes")
    func referenceFile() throws {
        let url = URL(filePath: Repository.path("config/freshet.yaml"))
        if ProcessInfo.processInfo.environment["UPDATE_REFERENCE"] != nil {
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(SettingTable.referenceYAML.utf8).write(to: url)
        }
        let text = try String(contentsOf: url, encoding: .utf8)
        #expect(
            text == SettingTable.referenceYAML, "run the tests with UPDATE_REFERENCE=1 and commit config/freshet.yaml")
    }

    @Test("the reference file loads, as it is and with every setting uncommented")
    func referenceLoads() throws {
        let text = SettingTable.referenceYAML
        #expect(try Settings.load(fileText: text).settings == Settings())
        let uncommented = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("  #") && !line.hasPrefix("  # ") ? "  " + line.dropFirst(3) : String(line)
        }.joined(separator: "\n")
        let loaded = try Settings.load(fileText: uncommented)
        #expect(loaded.settings == Settings())
        #expect(loaded.values.allSatisfy { $0.origin.hasPrefix("freshet.yaml:") })
    }
}
