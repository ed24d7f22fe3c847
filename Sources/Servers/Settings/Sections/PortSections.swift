import GRPC
import HTTPServer
import Sessions

package struct HTTPSection: SettingSection {
    package static let doc = "The port for clients."
    package static let declared = HTTPSection()

    package let host = Setting.string("http.host", "127.0.0.1", "Address to listen on; 0.0.0.0 or :: for all.")
    package let port = Setting.int("http.port", 9399, in: 0...65_535, "Port to listen on; 0: the system chooses.")
    package let eventLoops = Setting.int(
        "http.eventLoops", 0, in: 0...256, "Threads for connections; 0: one per core.")
    package let connectionsMax = Setting.int(
        "http.connectionsMax", Parts.http.connectionsMax, in: 1...1_000_000,
        "Open connections; further ones are refused.")
    package let connectionsPerAddressMax = Setting.int(
        "http.connectionsPerAddressMax", Parts.http.connectionsPerAddressMax, in: 0...1_000_000,
        "Open connections of one address; trustedProxies and uncountedAddresses have no limit. 0: no limit.")
    package let bodyBytesMax = Setting.bytes(
        "http.bodyBytesMax", Parts.http.bodyBytesMax, in: kib...256 * mib, "Size of a request's body.")
    package let bodiesBytesMax = Setting.bytes(
        "http.bodiesBytesMax", Parts.http.bodiesBytesMax, in: mib...1024 * 1024 * mib,
        "Unanswered bodies and incomplete messages. One address may hold half of what is free; more are refused.")
    package let headerBytesMax = Setting.bytes(
        "http.headerBytesMax", Parts.http.headerBytesMax, in: kib...mib, "Size of a request's head.")
    package let repeatedRequestsMax = Setting.int(
        "http.repeatedRequestsMax", Parts.http.repeatedRequestsMax, in: 0...100_000,
        "Repeated GET requests that each event loop recognizes by their bytes.")
    package let pipelinedMax = Setting.int(
        "http.pipelinedMax", Parts.http.pipelinedMax, in: 1...100_000,
        "Pipelined requests waiting on an HTTP/1.1 connection; one more closes it.")
    package let idleTimeoutMs = Setting.duration(
        "http.idleTimeoutMs", Parts.http.idleTimeoutMs, in: 100...hour,
        "Time after which an idle kept-alive connection is closed.")
    package let headerTimeoutMs = Setting.duration(
        "http.headerTimeoutMs", Parts.http.headerTimeoutMs, in: 100...10 * minute,
        "Time in which a request's head must arrive.")
    package let writeStallTimeoutMs = Setting.duration(
        "http.writeStallTimeoutMs", Parts.http.writeStallTimeoutMs, in: 100...hour,
        "Time after which a client that reads none of its pending output is cut off; with gRPC, only that call.")
    package let corsOrigins = Setting.list(
        "http.corsOrigins", standard: ["*"], "Origins of web pages that may call; * for all, empty for none.")
    package let trustedProxies = Setting.list(
        "http.trustedProxies",
        "Addresses or networks (10.0.0.0/8) of proxies whose X-Forwarded-For names the client's address.")
    package let uncountedAddresses = Setting.list(
        "http.uncountedAddresses", standard: ["127.0.0.0/8", "::1"],
        "Addresses or networks without limits for each address; empty for none.")
    package let ipv6PrefixBits = Setting.int(
        "http.ipv6PrefixBits", Parts.addresses.ipv6PrefixBits, in: 1...128,
        "Leading bits of an IPv6 address that limits per address count as one address.")
    package let grpcCallsMax = Setting.int(
        "http.grpc.callsMax", Parts.grpc.callsMax, in: 1...1_000_000, "Concurrent calls of one gRPC connection.")
    package let grpcControlFramesPerSecond = Setting.int(
        "http.grpc.controlFramesPerSecond", Parts.grpc.controlFramesPerSecond, in: 10...100_000,
        "PING, SETTINGS and PRIORITY frames per second of one gRPC connection; a faster one is read more slowly.")
    package let grpcIdleTimeoutMs = Setting.duration(
        "http.grpc.idleTimeoutMs", Parts.grpc.idleTimeoutMs, in: 100...24 * hour,
        "Time after which a gRPC connection without calls is closed with GOAWAY.")
    package let compressionOn = Setting.bool(
        "http.compression.on", true,
        "Compresses results for clients that accept it: permessage-deflate for WebSockets, gzip for HTTP.")
    package let compressionBodyBytesMin = Setting.bytes(
        "http.compression.bodyBytesMin", Parts.compression.bodyBytesMin, in: 64...mib,
        "Size of a result below which it is sent as it is.")
    package let compressionBodyBytesMax = Setting.bytes(
        "http.compression.bodyBytesMax", Parts.compression.bodyBytesMax, in: mib...64 * mib,
        "Size of a result past which it is sent as it is; compressing it would delay others.")
    package let compressionLevel = Setting.int(
        "http.compression.level", Parts.compression.level, in: 1...9, "zlib's level; 1 is the fastest.")
    package let compressionBytesPerSecond = Setting.bytes(
        "http.compression.bytesPerSecond", Parts.compression.bytesPerSecond, in: 64 * kib...kib * mib,
        "Bytes of results that each event loop compresses per second; results beyond that are sent as they are.")
    package let tlsCertificateFile = Setting.optional(
        "http.tls.certificateFile",
        "PEM file with the port's certificate chain; empty: no TLS. Reloaded when it changes.")
    package let tlsKeyFile = Setting.optional(
        "http.tls.keyFile", "PEM file with the key of http.tls.certificateFile.")
    package let tlsPollMs = Setting.duration(
        "http.tls.pollMs", minute, in: 50...24 * hour, "Interval at which both files are checked for changes.")
}

extension SectionSettings where Section == HTTPSection {
    /// The scheme of URLs of the port.
    package var scheme: String { self.tlsCertificateFile == nil ? "http" : "https" }
}

package struct LogSection: SettingSection {
    package static let doc = "Log lines on standard error."
    package static let declared = LogSection()

    package let level = Setting.string(
        "log.level", "info", choices: ["trace", "debug", "info", "notice", "warning", "error", "critical"],
        "Lowest level that is logged.")
    package let format = Setting<LogFormat>.choice("log.format", .text, "Plain text or JSON lines.")
}

package enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

package struct DevSection: SettingSection {
    package static let doc = "Only for `freshet dev`."
    package static let declared = DevSection()

    package let dataDirectory = Setting.string(
        "dev.dataDirectory", ".freshet", "Folder of the private Postgres and Redis.")
}

package struct LimitsSection: SettingSection {
    package static let doc = "Limits of a single request."
    package static let declared = LimitsSection()

    package let variablesDepthMax = Setting.int("limits.variablesDepthMax", 32, in: 1...512, "Nesting of variables.")
    package let variablesBytesMax = Setting.bytes(
        "limits.variablesBytesMax", 256 * kib, in: 64...64 * mib, "Size of variables as canonical JSON.")
}
