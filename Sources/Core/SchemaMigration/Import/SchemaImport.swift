package import SchemaModel

/// The schema of an existing database, so that a project can begin with it: `freshet init --from`.
///
/// Everything is first said as well as the language allows. The result is compiled, and compared with the database as
/// `freshet migrate` would; what fails, or would change the database, becomes a comment with that reason.
package struct SchemaImport: Sendable {
    /// The text of `schema.gql`.
    package let text: String
    /// The type names of the tables, in their order.
    package let typeNames: [String]
    /// How many things are comments.
    package let leftOutCount: Int
    /// The changes that `freshet migrate` would make nevertheless; empty unless the bound on attempts was reached.
    package let remaining: [String]
    /// The number of things that were left out for a trial.
    package let attempts: Int

    /// The bound on compilations.
    static let attemptsMax = 5_000

    /// - Parameter views: the columns of views, in their order, with their types.
    package init(_ database: DatabaseDescription, views: [ViewDescription] = []) {
        var schema = Self.first(database, views)
        var attempts = 0
        var problems = Self.problems(schema, database)
        search: while let problem = problems.first, attempts < Self.attemptsMax {
            for place in schema.candidates(for: problem) {
                attempts += 1
                var trial = schema
                trial.leaveOut(place, because: problem.reason)
                let rest = Self.problems(trial, database)
                if rest.isFewer(than: problems), rest.count(of: problem) < problems.count(of: problem) {
                    // All that it would have caused, not only what was found first.
                    let others = problems.filter { $0.isError == problem.isError && $0.reason != problem.reason }
                    let solved = others.filter { rest.count(of: $0) < problems.count(of: $0) }.map(\.reason)
                    schema.leaveOut(place, because: ([problem.reason] + solved.prefix(3)).joined(separator: "; "))
                    problems = rest
                    continue search
                }
                if attempts >= Self.attemptsMax { break }
            }
            break
        }
        text = schema.printed().text
        typeNames = schema.tables.filter(\.isSaid).map(\.typeName)
        leftOutCount = schema.leftOutCount
        remaining = problems.map(\.reason)
        self.attempts = attempts
    }

    // MARK: Problems

    struct Problem {
        /// The error, or the change that a migration would make.
        let reason: String
        /// Texts that may contain the names of what causes it.
        let texts: [String]
        /// The place of an error of the compiler.
        let place: ImportedSchema.Place?
        let isError: Bool
    }

    private static func problems(_ schema: ImportedSchema, _ database: DatabaseDescription) -> [Problem] {
        let (text, places) = schema.printed()
        var sink = DiagnosticSink()
        let compiled = SchemaCompiler.compile(files: [SourceFile(path: "schema.gql", text: text)], sink: &sink)
        let errors = sink.diagnostics.filter { $0.severity == .error }
        if !errors.isEmpty {
            return errors.map {
                Problem(reason: $0.message, texts: [$0.message], place: places[$0.line], isError: true)
            }
        }
        let plan = Migration.plan(compiled, existing: database)
        return plan.refused.map { finding in
            Problem(
                reason: finding.message, texts: [finding.message, finding.object, finding.part ?? ""], place: nil,
                isError: false)
        }
            + plan.steps.map {
                Problem(
                    reason: "freshet migrate would \($0.summary)", texts: [$0.sql, $0.summary], place: nil,
                    isError: false)
            }
    }

    // MARK: What the database says

    private static func first(_ database: DatabaseDescription, _ views: [ViewDescription]) -> ImportedSchema {
        var schema = ImportedSchema()
        var names: Set<String> = ["Query", "Mutation", "Subscription", "ID"]
        names.formUnion(ScalarType.names)
        /// GraphQL names by SQL name; nil for those that GraphQL cannot name.
        var enums: [String: String?] = [:]
        for name in database.enums.keys.sorted() {
            let values = database.enums[name] ?? []
            let type = ImportedNames.enumeration(name)
            let isSayable =
                ImportedNames.isName(type) && GeneratedNames.snakeCase(type) == name && !names.contains(type)
                && !values.isEmpty
                && values.allSatisfy {
                    ImportedNames.isName($0) && !["true", "false", "null"].contains($0) && !$0.hasPrefix("__")
                }
            guard isSayable else {
                enums[name] = .some(nil)
                schema.remarks.append(
                    "The enum \(ImportedSchema.literal(name)) has a name, or a value, that GraphQL does not allow;"
                        + " its columns are texts.")
                continue
            }
            names.insert(type)
            enums[name] = type
            schema.enums.append((type, values))
        }
        let partitions = database.partitions(in: "public")
        let tables = database.tables.filter { !partitions.contains($0.name) }
        let types = Dictionary(
            tables.map { ($0.name, ImportedNames.unique(ImportedNames.type($0.name), &names)) },
            uniquingKeysWith: { first, _ in first })
        let fields = Dictionary(
            tables.map { ($0.name, SchemaImportTable.fields(of: $0)) }, uniquingKeysWith: { first, _ in first })
        for table in tables {
            schema.tables.append(SchemaImportTable(table, types: types, enums: enums, fields: fields).imported)
        }
        for view in views {
            let type = ImportedNames.unique(ImportedNames.type(view.name), &names)
            schema.tables.append(SchemaImportTable.view(view, as: type, enums: enums))
        }
        return schema
    }
}

/// A view with its columns, whose types are as in `DatabaseDescription.Column`.
package struct ViewDescription: Sendable, Hashable {
    package let name: String
    package let columns: [DatabaseDescription.Column]

    /// Reads one row of `sql`.
    package init(name: String, columns: [String], types: [String]) {
        self.name = name
        self.columns = zip(columns, types).map {
            DatabaseDescription.Column(name: $0, type: $1, isNullable: true, defaultSQL: nil)
        }
    }

    /// Returns a statement that yields a row for each column of a view, materialized view or foreign table, in order:
    /// its name, the column and the type.
    package static func sql(in namespace: String = "public") -> String {
        """
        SELECT r.relname::text, a.attname::text, CASE
            WHEN t.typtype = 'e' THEN t.typname::text
            WHEN e.typtype = 'e' THEN e.typname || '[]'
            ELSE pg_catalog.format_type(a.atttypid, a.atttypmod) END
        FROM pg_catalog.pg_class r
        JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
        JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
        JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
        WHERE n.nspname = \(SQLName.literal(namespace)) AND r.relkind IN ('v', 'm', 'f') AND NOT r.relispartition
        ORDER BY r.relname, a.attnum
        """
    }
}

extension [SchemaImport.Problem] {
    fileprivate func count(of problem: SchemaImport.Problem) -> Int { filter { $0.reason == problem.reason }.count }

    /// Errors hide what a migration would do, so they count first.
    fileprivate func isFewer(than others: [SchemaImport.Problem]) -> Bool {
        let (mine, theirs) = (filter(\.isError).count, others.filter(\.isError).count)
        return mine == theirs ? count < others.count : mine < theirs
    }
}

extension ImportedSchema {
    /// The places that may cause a problem, the most probable first.
    fileprivate func candidates(for problem: SchemaImport.Problem) -> [Place] {
        var found: [(place: Place, score: Int)] = []
        func mentions(_ names: [String]) -> Int {
            names.filter { name in problem.texts.contains { Self.contains($0, name) } }.count
        }
        for (index, table) in tables.enumerated() where table.isSaid {
            let isHere = problem.place?.table == index
            let tableScore = isHere ? 100 : mentions([table.name, table.typeName]) * 20
            // Relations are said on the other side, too.
            for (number, field) in table.fields.enumerated() where field.part.isSaid {
                let target = field.target.map { target in
                    tables.firstIndex { $0.typeName == target } == problem.place?.table ? 50 : mentions([target]) * 10
                }
                let isExact = problem.place == .field(index, number)
                let score = max(tableScore, target ?? 0) + mentions(field.part.mentions) * 5 + (isExact ? 200 : 0)
                guard score > 0 else { continue }
                for (position, directive) in field.directives.enumerated() where directive.isSaid && !directive.isSearch
                {
                    found.append((.fieldDirective(index, number, position), score + 3 + mentions(directive.mentions)))
                }
                // A column is left out last; a relation, before.
                found.append((.field(index, number), field.target == nil ? score - 60 : score + 2))
            }
            guard tableScore > 0 else { continue }
            for (number, directive) in table.directives.enumerated() where directive.isSaid {
                let isExact = problem.place == .directive(index, number)
                found.append(
                    (.directive(index, number), tableScore + mentions(directive.mentions) * 5 + (isExact ? 200 : 0)))
            }
            if table.fields.contains(where: { $0.directives.contains { $0.isSearch && $0.isSaid } }) {
                found.append((.search(index), tableScore + 1))
            }
            found.append((.table(index), tableScore - 200))
        }
        return found.enumerated().sorted { ($1.element.score, $0.offset) < ($0.element.score, $1.offset) }.map(
            \.element.place)
    }

    /// Whether a text contains a name as a whole word.
    private static func contains(_ text: String, _ name: String) -> Bool {
        guard !name.isEmpty else { return false }
        var rest = text[...]
        while let range = rest.firstRange(of: name) {
            func isWord(_ character: Character?) -> Bool {
                character.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false
            }
            let before = range.lowerBound > text.startIndex ? text[text.index(before: range.lowerBound)] : nil
            let after = range.upperBound < text.endIndex ? text[range.upperBound] : nil
            if !isWord(before), !isWord(after) { return true }
            rest = rest[range.upperBound...]
        }
        return false
    }
}
