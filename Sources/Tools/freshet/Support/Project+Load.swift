import Catalog
import Operations
import ProjectFolder
import SchemaModel

/// Loads and compiles a project folder for a command. Diagnostics go to standard error; errors end the process.
enum ProjectLoading {
    static func project(at path: String) -> Project {
        do throws(CatalogError) {
            return try ProjectFolder.load(path)
        } catch {
            report(error.diagnostics)
            Terminal.fail(summary(error.diagnostics))
        }
    }

    /// - Parameter omitsInvalidOperations: whether operations with errors are left out, with a line about them.
    static func catalog(
        of project: Project, everyMinimumMs: Int, omitsInvalidOperations: Bool = false
    ) -> Catalog {
        do throws(CatalogError) {
            let catalog = try Catalog.compile(
                project,
                options: CatalogOptions(
                    everyMinimumMs: everyMinimumMs, omitsInvalidOperations: omitsInvalidOperations))
            report(catalog.warnings)
            if let line = omission(catalog.invalidOperations) { Terminal.error(line) }
            return catalog
        } catch {
            report(error.diagnostics)
            Terminal.fail(summary(error.diagnostics))
        }
    }

    /// Returns the line about operations that are not served; nil if there are none.
    static func omission(_ names: [String]) -> String? {
        names.isEmpty
            ? nil
            : "not served, because \(names.count == 1 ? "it does" : "they do") not compile: "
                + names.joined(separator: ", ")
    }

    private static func report(_ diagnostics: [Diagnostic]) {
        guard !diagnostics.isEmpty else { return }
        Terminal.report(diagnostics)
    }

    private static func summary(_ diagnostics: [Diagnostic]) -> String {
        let count = diagnostics.count { $0.severity == .error }
        return count == 1 ? "1 problem in the project" : "\(count) problems in the project"
    }
}
