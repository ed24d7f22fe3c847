import TestSupport
import Testing

/// Promises of the folders below `Sources`.
@Suite struct ArchitectureTests {
    /// Read once for all tests.
    private static let read = Result { try SourceTree() }
    private let tree: SourceTree

    init() throws { tree = try Self.read.get() }

    @Test func everyModuleStandsInAFolder() {
        #expect(tree.files.count > 500)
        for file in tree.files { #expect(SourceTree.folders.contains(file.folder), "\(file.path)") }
    }

    @Test func importsGoOneWay() throws {
        let folders = tree.folderOfModule
        for file in tree.files {
            let own = try #require(SourceTree.folders.firstIndex(of: file.folder))
            for module in file.imports {
                guard let imported = folders[String(module)], let rank = SourceTree.folders.firstIndex(of: imported)
                else { continue }
                #expect(rank <= own, "\(file.path) in \(file.folder) imports \(module) of \(imported)")
            }
        }
    }

    /// Apps get the SDK alone, and nodes do without it.
    @Test func theSDKStandsApart() {
        let folders = tree.folderOfModule
        for file in tree.files {
            let imported = file.imports.compactMap { folders[String($0)] }
            if file.folder == "SDK" {
                #expect(Set(imported).isSubset(of: ["Languages", "SDK"]), "\(file.path)")
            } else if ["Core", "Servers", "Roles"].contains(file.folder) {
                #expect(!imported.contains("SDK"), "\(file.path)")
            }
        }
    }

    /// Files of pure modules that may use what others may not, each with its reason.
    private static let exceptions: [String: String] = [
        "Languages/CEL/Library/TimeZones.swift": "Foundation has the table of time zones",
        "Languages/CEL/Extensions/FormatFunction.swift": "the C library formats floating point numbers",
        "Core/QuerySQL/ShapeCache.swift": "a cache of statements that threads share, under a Mutex",
    ]

    /// Pure files of other modules, each with what it decides. `*` stands for any part of a name.
    private static let pureFiles: [String: String] = [
        "Servers/Postgres/Connection/PipelineMachine*.swift": "what a pipeline sends, and what answers and losses mean",
        "Servers/Postgres/Connection/ConnectMachine.swift": "the steps of connecting",
        "Servers/Postgres/Pool/ConnectionChoice.swift": "which connection gets a statement",
        "Servers/Postgres/Pool/ReplicaChoice.swift": "which replica gets a statement, and what its answers mean",
        "Servers/Postgres/Pool/ReplicaReport.swift": "whether a re-run would use a replica",
        "Servers/Postgres/Connection/ConnectRefusal.swift": "what a failed attempt to connect means",
        "Servers/Postgres/Connection/PreparedStatements.swift": "which statements stay prepared",
        "Servers/Postgres/Pool/FairQueue.swift": "which caller is next",
        "Servers/Postgres/Pool/LaneRules.swift": "on which connections of a lane a statement runs",
        "Servers/Postgres/Pool/StatementPace.swift": "which statements are short",
        "Servers/Postgres/Pool/SlowStatementAdmission.swift": "where a slow statement runs",
        "Servers/Broker/Redis/Reader/SlotReaders.swift": "which reader reads a slot, when, and what is handed out",
        "Servers/Broker/Redis/Topology/SlotMap.swift": "which server has a slot, and what a redirection means",
        "Servers/HTTPServer/Compression/ContentCoding.swift": "whether a client prefers gzip",
        "Servers/HTTPServer/Compression/MessageDeflate.swift": "which offer of permessage-deflate is accepted",
        "Servers/HTTPServer/Compression/DeflateBlocks.swift": "the bytes around compressed segments",
        "Servers/HTTPServer/Compression/CompressionPolicy.swift": "which bodies are compressed",
        "Servers/Broker/Redis/Topology/ClusterCall.swift": "what follows on each attempt of a call of a cluster",
        "Servers/Broker/Redis/Topology/MasterChoice.swift": "which master the sentinels' reports make believable",
        "Servers/Broker/Redis/Topology/TopologySchedule.swift": "when sentinels or nodes of a cluster are queried",
        "Servers/Broker/Redis/Topology/SlotMapChoice.swift": "which node is asked for the slots, and which is believed",
        "Servers/Broker/Redis/Commands/BatchPlan.swift": "what a batch contains, and what is sent again",
        "Servers/Tokens/Keys/KeyRing.swift": "when keys are fetched again",
        "Roles/Cluster/RevocationRefresh.swift": "when revocations are written back",
        "Roles/Execution/Batches/BatchRun.swift": "which members of a batch run in one statement",
        "Roles/Execution/Batches/RemoteRound.swift": "the order of a batch's calls to custom resolvers",
        "Roles/Execution/MutationProgress.swift": "what the results of a mutation's fields mean",
        "Roles/Execution/SelectionMatch.swift": "when a client's text means a stored operation",
        "Roles/Gateway/PlainResource/PollMachine.swift": "which result answers which long-poll",
        "Roles/PublicAPI/Routes/PollRules.swift": "how long a long-poll waits, and what answers it",
        "Roles/Gateway/Registry/DrainPlan.swift": "when each session is asked to reconnect",
        "Roles/Node/Readiness/ReadingLag.swift": "the read lag that is reported",
        "Tools/CodeGeneration/*.swift": "the client code of a connector, and which files it replaces",
        "Tools/LocalServers/RestartSchedule.swift": "when a server is started again",
        "Roles/Node/Readiness/ReadinessRule.swift": "when a node is not ready",
        "Roles/Node/Readiness/StreamReading.swift": "whether Redis serves a node's streams",
        "Roles/Node/Start/StartupBackoff.swift": "when a start is tried again",
        "Roles/Admin/RefusalBudget.swift": "how many refusals are logged",
        "Roles/Admin/Streams/ReportChanges.swift": "which reports of a stream are sent",
        "Roles/ChangeTailer/SlotRemains.swift": "what is dropped with a replication slot",
    ]

    /// Whether the file's path below `Sources` matches the pattern.
    private static func matches(_ path: String, _ pattern: String) -> Bool {
        guard let star = pattern.firstIndex(of: "*") else { return path == pattern }
        let (start, end) = (pattern[..<star], pattern[pattern.index(after: star)...])
        return path.count >= start.count + end.count && path.hasPrefix(start) && path.hasSuffix(end)
    }

    private static let pureOfSDK: Set<String> = ["FreshetTypes", "FreshetLink", "FreshetStore", "FreshetQueue"]

    private static func isPure(_ file: SourceTree.File) -> Bool {
        ["Languages", "Core"].contains(file.folder)
            || ["Explanation", "RedisModel", "Simulation"].contains(file.module)
            || pureOfSDK.contains(file.module)
            || pureFiles.keys.contains { matches(file.path, $0) }
    }

    @Test func everyPureFileExists() {
        for pattern in Self.pureFiles.keys {
            #expect(tree.files.contains { Self.matches($0.path, pattern) }, "no file \(pattern)")
        }
        let machines = tree.files.filter { Self.matches($0.path, "Servers/Postgres/Connection/PipelineMachine*.swift") }
        #expect(machines.count > 3, "\(machines.map(\.path))")
    }

    @Test func pureModulesHaveNoSocketsClocksTasksOrLocks() {
        let purity = Purity()
        for file in tree.files where Self.isPure(file) {
            if Self.exceptions.keys.contains(where: file.path.hasSuffix) { continue }
            for (index, line) in file.code.enumerated() where !line.isEmpty {
                let isPure = purity.holds(in: line)
                #expect(isPure, "\(file.path):\(index + 1): \(line)")
            }
        }
    }

    @Test(arguments: [
        "package import NIOCore", "import Foundation", "    let value = await next()", "    let lock: Mutex<Int>",
        "    let now = ContinuousClock.now", "    let now = Date()", "    let one = Int.random(in: 0..<9)",
        "    let one = all.randomElement()",
    ])
    func impureLinesAreFound(line: String) {
        let isPure = Purity().holds(in: line[...])
        #expect(!isPure)
    }

    @Test(arguments: ["import LiveModel", "    let one = Int.random(in: 0..<9, using: &random)", "    var awaited = 1"])
    func pureLinesAreAccepted(line: String) {
        let isPure = Purity().holds(in: line[...])
        #expect(isPure)
    }

    @Test func everyExceptionIsNeeded() {
        let purity = Purity()
        for path in Self.exceptions.keys {
            let isImpure = tree.files.contains { file in
                file.path.hasSuffix(path) && !file.code.allSatisfy { $0.isEmpty || purity.holds(in: $0) }
            }
            #expect(isImpure, "\(path) is gone or pure")
        }
    }

    /// Files that read another clock than those of `Clocks`, by the ends of their paths, each with its reason.
    private static let otherClocks: [String: String] = [
        "/Run/FaultyLink.swift": "bytes are delayed by timers of an event loop",
        "/GRPC/GRPCCall.swift": "its deadlines are those of one event loop, whose clock tests move",
        "/GRPC/GRPCConnection.swift": "its deadlines are those of one event loop, whose clock tests move",
        "/GRPC/GRPCStreamHandler.swift": "its deadlines are those of one event loop, whose clock tests move",
        "/GRPC/WriteProgress.swift": "its deadlines are those of one event loop, whose clock tests move",
        "/OutboundHTTP/HTTPSender.swift": "the HTTP client takes deadlines of event loops only",
        "/Connection/InputThrottle.swift": "rates are counted by the clock of one event loop, which tests move",
        "/Cluster/Membership.swift": "it sleeps until an instant, and tasks do so by Swift's clocks only",
        "/Support/Measure.swift": "it measures the CPU time of threads",
        "/Campaign.swift": "the simulator imports pure modules only",
        "/FreshetClient/Engine/EngineTime.swift": "apps get no module of the server",
    ]

    @Test func timeComesFromClocks() {
        let clock =
            #/
            \b(?:ContinuousClock|SuspendingClock|NIODeadline|clock_gettime|Date\(\)|Date\.now)
            | \bnow\.uptimeNanoseconds | [lL]oop\.now\b
            /#
            .wordBoundaryKind(.simple)
        for file in tree.files where !["Languages", "Core"].contains(file.folder) && file.module != "Clocks" {
            let readsAnother = file.code.contains { $0.contains(clock) }
            let isException = Self.otherClocks.keys.contains(where: file.path.hasSuffix)
            #expect(readsAnother == isException, "\(file.path)")
        }
    }

    @Test func longFilesSayWhyTheyAreLong() throws {
        for file in tree.files where file.code.count > 301 {
            let text = try Repository.text("Sources/" + file.path)
            let saysWhy = text.contains(#/ong,? because/#) || text.hasPrefix("// Generated by `freshet generate`")
            #expect(saysWhy, "\(file.path) has more than 300 lines and no reason")
        }
    }

    /// An async iterator in an optional local variable is unwrapped before it is awaited: optimised code of Swift 6.3.1
    /// leaks it in the form `await iterator?.next()`. A property may be one.
    @Test func optionalIteratorsAreUnwrappedBeforeTheyAreAwaited() {
        for file in tree.files {
            for line in Self.leakedIterators(in: file.code) { Issue.record("\(file.path): \(line)") }
        }
    }

    @Test func aLeakedIteratorIsFound() {
        let next = "        while case .some(let event) = await events?.next() {"
        #expect(Self.leakedIterators(in: ["    var events: AsyncStream<Int>.Iterator?", next[...]]) == [next[...]])
        #expect(Self.leakedIterators(in: ["    private var events: AsyncStream<Int>.Iterator?", next[...]]) == [])
        #expect(Self.leakedIterators(in: ["    var events = stream.makeAsyncIterator()", "await events.next()"]) == [])
    }

    private static func leakedIterators(in code: [Substring]) -> [Substring] {
        code.indices.compactMap { index in
            guard let name = code[index].firstMatch(of: #/await (\w+)\?\.next\(/#)?.output.1 else { return nil }
            let declaration = code[..<index].last { line in
                line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.starts(with: ["var", name])
                    || line.contains("private var \(name)") || line.contains("package var \(name)")
            }
            let isProperty = declaration.map { $0.contains("private var") || $0.contains("package var") } ?? false
            return isProperty ? nil : code[index]
        }
    }

    /// A tuple is made of values that are there: in optimised code of Swift 6.3, a task's result loses the elements
    /// that are written before a suspension (swiftlang/swift#91911).
    @Test func tuplesAreMadeAfterSuspensions() {
        for file in tree.files {
            for (index, line) in file.code.enumerated() where line.contains("await") {
                let isMadeAcross = line.contains(#/(?:return|\bin)\ \(.*,.*\bawait\b/#)
                #expect(!isMadeAcross, "\(file.path):\(index + 1): \(line)")
            }
        }
    }

    /// The simulator performs the effects of what ships without a product shell, which has sockets, tasks or clocks.
    @Test func simulationUsesPureModulesOnly() {
        let folders = Dictionary(tree.files.map { ($0.module, $0.folder) }, uniquingKeysWith: { first, _ in first })
        for file in tree.files where file.module == "Simulation" {
            for module in file.imports {
                guard let folder = folders[String(module)] else { continue }
                #expect(
                    ["Languages", "Core"].contains(folder) || module == "RedisModel"
                        || Self.pureOfSDK.contains(String(module)), "\(file.path) imports \(module)")
            }
        }
    }
}

/// Imports and words that a line of a pure module must not have.
private struct Purity {
    private let imports =
        #/^(?:package |public )*import (NIO\w*|Foundation\w*|Synchronization|Dispatch|Glibc|Logging|Metrics)\b/#
    /// Word boundaries are those of `\w`: by default a dot between letters is none.
    private let words =
        #/
        \b(?:Task|await|async|Mutex|Atomic|DispatchQueue|Thread)\b
        | \b(?:ContinuousClock|SuspendingClock|SystemRandomNumberGenerator)\b
        | \bDate\(\) | \bDate\.now\b | clock_gettime
        | \.random\(in:\ (?:(?!using:).)*$ | \brandomElement\(\) | \bshuffled\(\)
        /#
        .wordBoundaryKind(.simple)

    func holds(in line: Substring) -> Bool {
        line.firstMatch(of: imports) == nil && line.firstMatch(of: words) == nil
    }
}
