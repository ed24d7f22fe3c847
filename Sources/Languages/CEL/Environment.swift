/// The names and limits that expressions are compiled against.
///
/// Compilation has three stages: `Syntax/` (text to tree), `Check/` (tree to types) and `Plan/` (tree to a program with
/// every name resolved). `Library/` holds the functions, `Values/` the values they work on.
package struct Environment: Sendable {
    /// The namespace that is searched first for names (langdef "Name Resolution"); empty for none.
    package let container: String
    package let variables: [VariableDeclaration]
    /// The declared functions, then those of the extension libraries; a declared function shadows a library function.
    package let functions: [FunctionDeclaration]
    package let limits: Limits
    package let options: Options

    /// Deviations from standard CEL.
    package struct Options: Sendable {
        /// Paths at which null is not an error: if the value at such a path is null, a selection below it yields null
        /// and `has()` yields false. A path begins with the components of a variable's name.
        package var nullSafePaths: [[String]] = []
        /// Whether `nil` is a synonym of `null`.
        package var allowsNilLiteral = false
        /// Whether `has`, `all`, `exists`, `exists_one`, `map`, `filter` and the macros of the extension libraries
        /// (`cel.bind`, `optMap`, `optFlatMap`, `sortBy`) are expanded.
        package var expandsMacros = true

        package init() {}
    }

    let names: NameTable

    package init(
        container: String = "", variables: [VariableDeclaration], functions: [FunctionDeclaration] = [],
        nullSafePaths: [[String]] = [], allowNilLiteral: Bool = false, expandMacros: Bool = true,
        limits: Limits = .default
    ) {
        self.container = container
        self.variables = variables
        self.functions = functions + Extensions.functions
        self.limits = limits
        var options = Options()
        options.nullSafePaths = nullSafePaths
        options.allowsNilLiteral = allowNilLiteral
        options.expandsMacros = expandMacros
        self.options = options
        names = NameTable(container: container, variables: variables, functions: self.functions)
    }

    /// Parses, checks and plans an expression. If `expecting` is given, the result must be assignable to that type (a
    /// condition passes `.bool`; `dyn` is assignable to everything).
    package func compile(_ source: String, expecting: CELType? = nil) throws(CompileFailure) -> Program {
        let tree = try Parser.parse(source, limits: limits, options: options)
        var checker = Checker(environment: self, source: source)
        let type = try checker.check(tree, expecting: expecting)
        return try Planner.plan(tree, type: type, source: source, environment: self)
    }

    /// Parses and checks an expression, and returns its type.
    package func deduceType(_ source: String) throws(CompileFailure) -> CELType {
        let tree = try Parser.parse(source, limits: limits, options: options)
        var checker = Checker(environment: self, source: source)
        return try checker.check(tree, expecting: nil)
    }

    /// Returns a reader for one attribute of an activation, for example to build an index key; nil if no variable of
    /// that name is declared.
    package func reader(for path: AttributePath) -> AttributeReader? {
        guard let variable = names.variableIndices[path.root] else { return nil }
        return AttributeReader(
            PlannedPath(path: path, variable: variable, nullSafePaths: options.nullSafePaths, offset: 0))
    }
}
