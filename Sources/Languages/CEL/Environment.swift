/// What expressions are compiled against: the names they may use and the bounds they must keep.
///
/// The stages are `Syntax/` (text to tree), `Check/` (tree to types), `Plan/` (tree to a program with every name
/// resolved); `Library/` holds the functions and `Values/` what they work on.
package struct Environment: Sendable {
    /// The namespace in which names are tried first (langdef "Name Resolution"); empty for none.
    package let container: String
    package let variables: [VariableDeclaration]
    /// Those declared, then those of the extension libraries, which the former hide.
    package let functions: [FunctionDeclaration]
    package let limits: Limits
    package let options: Options

    /// Departures from the letter of the language.
    package struct Options: Sendable {
        /// Paths that may be null without making what is below them an error: while the value at such a path is null, a
        /// selection below it is null and `has()` of one is false. A path begins with the parts of a variable's name.
        package var nullSafePaths: [[String]] = []
        /// Whether `nil` is another word for `null`.
        package var allowsNilLiteral = false
        /// Whether `has`, `all`, `exists`, `exists_one`, `map` and `filter`, and those of the extension libraries
        /// (`cel.bind`, `optMap`, `optFlatMap`, `sortBy`) are macros.
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

    /// Parses, checks and plans. `expecting` adds the demand that the result be assignable to a type (a condition passes
    /// `.bool`; `dyn` is assignable to everything).
    package func compile(_ source: String, expecting: CELType? = nil) throws(CompileFailure) -> Program {
        let tree = try Parser.parse(source, limits: limits, options: options)
        var checker = Checker(environment: self, source: source)
        let type = try checker.check(tree, expecting: expecting)
        return try Planner.plan(tree, type: type, source: source, environment: self)
    }

    /// Parses and plans without checking: names and types that do not fit are errors of the evaluation.
    package func compileUnchecked(_ source: String) throws(CompileFailure) -> Program {
        let tree = try Parser.parse(source, limits: limits, options: options)
        return try Planner.plan(tree, type: .dyn, source: source, environment: self)
    }

    /// Parses and checks only; the deduced type.
    package func deduceType(_ source: String) throws(CompileFailure) -> CELType {
        let tree = try Parser.parse(source, limits: limits, options: options)
        var checker = Checker(environment: self, source: source)
        return try checker.check(tree, expecting: nil)
    }

    /// A resolved way to read one attribute of an activation, for example to build the key of an index; nil when no
    /// variable of that name is declared.
    package func reader(for path: AttributePath) -> AttributeReader? {
        guard let variable = names.variableIndices[path.root] else { return nil }
        return AttributeReader(
            PlannedPath(path: path, variable: variable, nullSafePaths: options.nullSafePaths, offset: 0))
    }
}
