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

    static func catalog(of project: Project, everyMinimumMs: Int) -> Catalog {
        do throws(CatalogError) {
            let catalog = try Catalog.compile(project, options: CatalogOptions(everyMinimumMs: everyMinimumMs))
            report(catalog.warnings)
            return catalog
        } catch {
            report(error.diagnostics)
            Terminal.fail(summary(error.diagnostics))
        }
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
