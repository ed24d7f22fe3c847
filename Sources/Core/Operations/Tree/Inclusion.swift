/// The condition under which a field is included: `@skip` and `@include` on it and on its enclosing fragments.
///
/// The same field may be selected in several places, so this is a disjunction of conjunctions of tests. Constants are
/// folded: no alternative means never, an empty alternative means always.
package struct Inclusion: Sendable, Hashable {
    package struct Test: Sendable, Hashable {
        package let variable: String
        package let expected: Bool
    }

    package private(set) var alternatives: [[Test]]

    static let always = Inclusion(alternatives: [[]])
    static let never = Inclusion(alternatives: [])

    init(alternatives: [[Test]]) {
        self.alternatives = alternatives
    }

    package var isAlways: Bool { alternatives.contains { $0.isEmpty } }
    var isNever: Bool { alternatives.isEmpty }

    func and(_ other: Inclusion) -> Inclusion {
        if isAlways { return other }
        if other.isAlways { return self }
        var products: [[Test]] = []
        for left in alternatives {
            for right in other.alternatives {
                let product = left + right.filter { !left.contains($0) }
                let contradicts = product.contains { test in
                    product.contains(Test(variable: test.variable, expected: !test.expected))
                }
                if !contradicts, !products.contains(product) { products.append(product) }
            }
        }
        return Inclusion(alternatives: products)
    }

    func or(_ other: Inclusion) -> Inclusion {
        if isAlways || other.isAlways { return .always }
        return Inclusion(alternatives: alternatives + other.alternatives.filter { !alternatives.contains($0) })
    }
}
