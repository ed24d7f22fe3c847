import FoundationEssentials
import Synchronization
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
                case .double(let value): .text(String(value))
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
            #expect(key.name.contains("BytesMax") == (key.unit == .bytes), "\(key.path)")
            let isDuration = key.name.hasSuffix("Ms") || key.name.hasSuffix("MaxMs") || key.name.hasSuffix("MinMs")
            #expect(isDuration == (key.kind == .duration), "\(key.path)")
        }
    }

    @Test("the struct reads every key of the table and no other")
    func structMatchesTable() {
        let read = Mutex<Set<String>>([])
        _ = Settings(
            SettingValues(standardIn: .serve) { path in read.withLock { _ = $0.insert(path) } }, profile: .serve)
        #expect(read.withLock { $0 } == Set(SettingTable.keys.map(\.path)))
    }

    @Test("choices of the table are the cases of the enums")
    func choicesMatchEnums() throws {
        let mode = try #require(SettingTable.byPath["auth.mode"])
        #expect(mode.allowed == .choices(Settings.Auth.Mode.allCases.map(\.rawValue)))
        let format = try #require(SettingTable.byPath["log.format"])
        #expect(format.allowed == .choices(Settings.Log.Format.allCases.map(\.rawValue)))
        let form = try #require(SettingTable.byPath["embeddings.format"])
        #expect(form.allowed == .choices(Settings.Embeddings.Format.allCases.map(\.rawValue)))
        let roles = try #require(SettingTable.byPath["cluster.roles"])
        #expect(roles.allowed == .choices(Role.allCases.map(\.rawValue)))
    }

    @Test("environment names cut at capitals")
    func environmentNames() throws {
        #expect(SettingTable.byPath["http.port"]?.environmentName == "FRESHET_HTTP_PORT")
        #expect(
            SettingTable.byPath["gateway.sessionBytesMax"]?.environmentName == "FRESHET_GATEWAY_SESSION_BYTES_MAX")
        #expect(SettingTable.byPath["auth.hs256Secret"]?.environmentName == "FRESHET_AUTH_HS256_SECRET")
    }

    /// With UPDATE_REFERENCE set the file is written instead.
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
