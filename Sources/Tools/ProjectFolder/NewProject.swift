import Foundation

/// The files of a new project: a list of tasks whose queries refresh without a rule, or one that begins with the schema
/// of an existing database.
package struct NewProject: Sendable {
    /// The reason that the files cannot be written.
    package struct Refusal: Error, CustomStringConvertible {
        package let description: String
    }

    package let serviceID: String
    /// The schema of an existing database; nil for the example.
    private let schema: String?
    /// A query to begin with, instead of the example's.
    private let query: String?

    /// - Parameters:
    ///   - schema: the text of `schema.gql`; nil for the example's.
    ///   - query: the text of `queries.gql`, if there is a schema.
    /// - Throws: `Refusal` if the id has other characters than letters, digits, `-` and `_`.
    package init(serviceID: String, schema: String? = nil, query: String? = nil) throws(Refusal) {
        let isID =
            !serviceID.isEmpty
            && serviceID.utf8.allSatisfy { byte in
                byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                    || Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
            }
        guard isID else {
            throw Refusal(description: "\"\(serviceID)\" is no service id: letters, digits, - and _ are allowed")
        }
        self.serviceID = serviceID
        self.schema = schema
        self.query = query
    }

    /// Writes the files into a folder that is empty or missing.
    /// - Returns: their paths within the folder, in the order in which to read them.
    /// - Throws: `Refusal` if the folder has files, or cannot be written.
    package func write(to folder: String) throws(Refusal) -> [String] {
        let manager = FileManager.default
        if let names = try? manager.contentsOfDirectory(atPath: folder), !names.isEmpty {
            throw Refusal(description: "\(folder) is not empty")
        }
        do {
            for (path, text) in files {
                let file = URL(fileURLWithPath: folder).appendingPathComponent(path)
                try manager.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: file)
            }
        } catch {
            throw Refusal(description: "\(folder) cannot be written: \(error.localizedDescription)")
        }
        return files.map(\.path)
    }

    var files: [(path: String, text: String)] {
        guard let schema else { return example }
        return example.compactMap { path, text in
            switch path {
            case "schema/schema.gql": (path, schema)
            case "connector/queries.gql": query.map { (path, $0) }
            case "connector/mutations.gql": nil
            case "refresh.yaml": (path, Self.quietRefresh)
            default: (path, text)
            }
        }
    }

    /// Changes nothing in a database that others own.
    private static let quietRefresh = """
        # Only Freshet reads this file. Queries refresh when rows change that they show or should show, also those with
        # rules (all).
        automatic: all
        # Changes of others are read from the database's log with the next line; freshet migrate then creates
        # publications.
        # source: both

        """

    private var example: [(path: String, text: String)] {
        [
            (
                "dataconnect.yaml",
                """
                specVersion: "v1"
                serviceId: "\(serviceID)"
                location: "us-central1"
                schema:
                  source: "./schema"
                  datasource:
                    postgresql:
                      database: "\(serviceID)"
                connectorDirs: ["./connector"]

                """
            ),
            (
                "schema/schema.gql",
                """
                type Task @table @index(fields: ["list", "createdAt"]) {
                  list: String!
                  title: String!
                  done: Boolean! @default(value: false)
                  createdAt: Timestamp! @default(expr: "request.time")
                }

                """
            ),
            (
                "connector/connector.yaml",
                """
                connectorId: "\(serviceID)"

                """
            ),
            (
                "connector/queries.gql",
                """
                # Neither query has a rule: changes of the rows that they read refresh them (refresh.yaml).

                query Tasks($list: String!) @auth(level: PUBLIC, insecureReason: "an example without users") {
                  tasks(where: {list: {eq: $list}}, orderBy: [{createdAt: ASC}], limit: 100) { id title done }
                }

                query OpenTasks($list: String!) @auth(level: PUBLIC, insecureReason: "an example without users") {
                  tasks(where: {list: {eq: $list}, done: {eq: false}}) { _count }
                }

                """
            ),
            (
                "connector/mutations.gql",
                """
                mutation AddTask($list: String!, $title: String!)
                  @auth(level: PUBLIC, insecureReason: "an example without users") {
                  task_insert(data: {list: $list, title: $title})
                }

                mutation CheckTask($id: UUID!, $done: Boolean!)
                  @auth(level: PUBLIC, insecureReason: "an example without users") {
                  task_update(id: $id, data: {done: $done})
                }

                mutation RemoveTask($id: UUID!) @auth(level: PUBLIC, insecureReason: "an example without users") {
                  task_delete(id: $id)
                }

                """
            ),
            (
                "refresh.yaml",
                """
                # Only Freshet reads this file. Queries refresh when rows change that they show or should show, also
                # those with rules (all), and also by changes of others, read from the database's log (both).
                automatic: all
                source: both

                """
            ),
        ]
    }
}
