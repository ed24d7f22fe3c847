import Foundation
import TestSupport

/// A private authority in a folder, and the certificate of servers that call themselves `redis.test` wherever they are.
struct Certificates {
    static let name = "redis.test"
    let folder: String

    init(folder: String) throws {
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        _ = try TestCertificates(directory: folder, leaves: ["server": "DNS:\(Self.name)"])
    }

    var caFile: String { folder + "/ca.crt" }

    /// The environment of a node that trusts these servers.
    var environment: [String: String] {
        [
            "FRESHET_REDIS_URL": "rediss://localhost", "FRESHET_REDIS_TLS_CA_FILE": caFile,
            "FRESHET_REDIS_TLS_SERVER_NAME": Self.name,
        ]
    }
}
