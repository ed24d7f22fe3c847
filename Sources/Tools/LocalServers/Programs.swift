import Glibc

/// Finds the programs of the private servers.
package enum Programs {
    /// Finds a program in `PATH` and in `/usr/lib/postgresql/N/bin`, which Debian keeps out of `PATH`. The highest
    /// version comes first, so that `initdb` and `postgres` match.
    ///
    /// - Parameter version: the major version of existing data, preferred to all others.
    package static func find(
        _ name: String, package: String, version: String? = nil, folder: String? = nil
    ) throws(LocalServerError) -> String {
        let preferred = version.map { ["/usr/lib/postgresql/\($0)/bin"] } ?? []
        for folder in folder.map({ [$0] }) ?? preferred + versionedFolders() + pathFolders() {
            let path = folder + "/" + name
            if access(path, X_OK) == 0 { return path }
        }
        throw LocalServerError(
            .programMissing,
            "\(name) is not installed; install the Debian package \(package) "
                + "(apt-get install \(package))")
    }

    private static func pathFolders() -> [String] {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        return path.split(separator: ":").map(String.init) + ["/usr/bin", "/bin", "/usr/sbin", "/usr/local/bin"]
    }

    private static func versionedFolders() -> [String] {
        let root = "/usr/lib/postgresql"
        return Files.entries(root).compactMap { Int($0) }.sorted(by: >).map { "\(root)/\($0)/bin" }
    }
}
