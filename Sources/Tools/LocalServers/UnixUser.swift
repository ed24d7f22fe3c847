import Glibc

/// The user that Postgres runs as. Postgres refuses to run as root, so root uses the owner of an existing data folder,
/// or else `postgres`, or else `nobody`. Other users run it as themselves.
struct UnixUser {
    let user: uid_t
    let group: gid_t
    let name: String

    static func forPostgres(cluster: String) throws(LocalServerError) -> UnixUser? {
        guard geteuid() == 0 else { return nil }
        if let owner = Files.owner(cluster), owner != 0, let account = named({ getpwuid(owner) }) { return account }
        for name in ["postgres", "nobody"] {
            if let account = named({ getpwnam(name) }) { return account }
        }
        throw LocalServerError(
            .programMissing, "Postgres does not run as root, and there is neither a user postgres nor nobody")
    }

    private static func named(_ find: () -> UnsafeMutablePointer<passwd>?) -> UnixUser? {
        find().map {
            UnixUser(user: $0.pointee.pw_uid, group: $0.pointee.pw_gid, name: String(cString: $0.pointee.pw_name))
        }
    }

    func give(_ path: String) throws(LocalServerError) {
        if chown(path, user, group) != 0 {
            throw LocalServerError(.dataFolderUnusable, "cannot give \(path) to the user \(name): \(Files.reason())")
        }
    }
}
