/// `lists.range`, `slice`, `flatten`, `distinct`, `sort`, `sortBy`, `reverse`, `first` and `last`.
enum ListFunctions {
    /// The function that the `sortBy` macro expands to; its name cannot be written in a source.
    static let sortByKeys = "@sortByAssociatedKeys"

    private static let a = Extensions.a
    private static let b = Extensions.b

    static let all: [FunctionDeclaration] = [
        FunctionDeclaration("lists.range", [Extensions.function("lists_range", [.int], .list(.int))]) {
            (arguments, budget, limits) throws(EvaluationError) in
            let count = try arguments.int(0)
            guard count >= 0 else { throw EvaluationError(.invalidArgument) }
            try budget.charge(elements: Int(clamping: count), limits)
            return .list((0..<count).map(Value.int))
        },
        FunctionDeclaration("slice", [Extensions.method("list_slice", [.list(a), .int, .int], .list(a))]) {
            (arguments, budget, limits) throws(EvaluationError) in
            let list = try arguments.list(0)
            let (start, end) = (try arguments.int(1), try arguments.int(2))
            guard start >= 0, start <= end, end <= Int64(list.count) else { throw EvaluationError(.indexOutOfRange) }
            try budget.charge(elements: Int(end - start), limits)
            return .list(Array(list[Int(start)..<Int(end)]))
        },
        FunctionDeclaration(
            "flatten",
            [
                Extensions.method("list_flatten", [.list(.list(a))], .list(a)),
                Extensions.method("list_flatten_list", [.list(a)], .list(.dyn)),
                Extensions.method("list_flatten_int", [.list(.dyn), .int], .list(.dyn)),
            ]
        ) { (arguments, budget, limits) throws(EvaluationError) in
            let depth = arguments.count > 1 ? try arguments.int(1) : 1
            guard depth >= 0 else { throw EvaluationError(.invalidArgument) }
            var flat: [Value] = []
            try flatten(try arguments.list(0), depth: Int(clamping: depth), into: &flat, &budget, limits)
            return .list(flat)
        },
        FunctionDeclaration("distinct", [Extensions.method("list_distinct", [.list(a)], .list(a))]) {
            (arguments, budget, limits) throws(EvaluationError) in .list(try distinct(try arguments.list(0), &budget))
        },
        FunctionDeclaration("sort", [Extensions.method("list_sort", [.list(a)], .list(a))]) {
            (arguments, budget, limits) throws(EvaluationError) in
            let list = try arguments.list(0)
            return .list(try sorted(list, by: list, &budget))
        },
        FunctionDeclaration(
            sortByKeys, [Extensions.method("list_sortByAssociatedKeys", [.list(a), .list(b)], .list(a))]
        ) { (arguments, budget, limits) throws(EvaluationError) in
            .list(try sorted(try arguments.list(0), by: try arguments.list(1), &budget))
        },
        FunctionDeclaration("first", [Extensions.method("list_first", [.list(a)], .optional(a))]) {
            (arguments, _, _) throws(EvaluationError) in .optional(try arguments.list(0).first)
        },
        FunctionDeclaration("last", [Extensions.method("list_last", [.list(a)], .optional(a))]) {
            (arguments, _, _) throws(EvaluationError) in .optional(try arguments.list(0).last)
        },
    ]

    private static func flatten(
        _ list: [Value], depth: Int, into flat: inout [Value], _ budget: inout Budget, _ limits: Limits
    ) throws(EvaluationError) {
        for element in list {
            try budget.charge(1)
            // Recursion is bounded by `Limits.valueDepthMax`.
            if depth > 0, case .list(let inner) = element {
                try flatten(inner, depth: depth - 1, into: &flat, &budget, limits)
            } else {
                guard flat.count < limits.elementsMax else { throw EvaluationError(.sizeExceeded) }
                flat.append(element)
            }
        }
    }

    private static func distinct(_ list: [Value], _ budget: inout Budget) throws(EvaluationError) -> [Value] {
        var kept: [Value] = []
        var keys: Set<EqualityKey> = []
        var unkeyed: [Value] = []
        for element in list {
            try budget.charge(1)
            if let key = EqualityKey(element) {
                if keys.insert(key).inserted { kept.append(element) }
                continue
            }
            var isKnown = false
            for other in unkeyed where try Value.equals(element, other, &budget) {
                isKnown = true
                break
            }
            guard !isKnown else { continue }
            unkeyed.append(element)
            kept.append(element)
        }
        return kept
    }

    /// Sorts the list by its keys, stably. All keys must have the same, ordered type.
    private static func sorted(
        _ list: [Value], by keys: [Value], _ budget: inout Budget
    ) throws(EvaluationError) -> [Value] {
        guard list.count == keys.count else { throw EvaluationError(.invalidArgument) }
        guard let first = keys.first else { return [] }
        for key in keys {
            try budget.charge(8)
            guard key.typeName == first.typeName, let order = key.order(relativeTo: first), order != .unordered else {
                throw EvaluationError(.noSuchOverload)
            }
        }
        let positions = list.indices.sorted { left, right in
            switch keys[left].order(relativeTo: keys[right]) {
            case .ascending: true
            case .same: left < right
            case .descending, .unordered, nil: false
            }
        }
        return positions.map { list[$0] }
    }
}
