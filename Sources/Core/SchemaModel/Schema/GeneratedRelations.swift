/// A field that a table has because another table refers to it: `remarks_on_novel` in `Novel`.
package struct InverseRelation: Sendable {
    /// `remarks_on_novel`, or `novelPrinting_on_novel` if `isSingle`.
    package let name: String
    /// The table with the reference.
    package let child: Table
    /// The reference in `child`.
    package let reference: Reference
    /// Whether the relation is one-to-one: at most one row, or null.
    package let isSingle: Bool
}

/// A field that leads through a join table, whose key consists of its two references: `makers_via_NovelMaker` in
/// `Novel`.
package struct ManyToManyRelation: Sendable {
    package let name: String
    package let join: Table
    /// The reference in `join` to the table with this field.
    package let near: Reference
    /// The reference in `join` to `target`.
    package let far: Reference
    package let target: Table
}

extension Schema {
    /// Returns the generated relation fields of a type, in SDL order.
    package func inverseRelations(ofType typeName: String) -> [InverseRelation] {
        (tables + views).flatMap { child in
            child.references.filter { $0.targetType == typeName }.map { reference in
                InverseRelation(
                    name: GeneratedNames.inverse(of: child, field: reference.field, isSingle: reference.isUnique),
                    child: child, reference: reference, isSingle: reference.isUnique)
            }
        }
    }

    /// Returns the generated many-to-many fields of a type, in SDL order.
    package func manyToManyRelations(ofType typeName: String) -> [ManyToManyRelation] {
        tables.flatMap { join -> [ManyToManyRelation] in
            guard let (first, second) = join.joinedReferences else { return [] }
            return [(first, second), (second, first)].compactMap { near, far in
                guard near.targetType == typeName, let target = table(ofType: far.targetType) else { return nil }
                let isSelfJoin = near.targetType == far.targetType
                return ManyToManyRelation(
                    name: GeneratedNames.manyToMany(
                        to: target, via: join, startingAt: isSelfJoin ? near.field : nil),
                    join: join, near: near, far: far, target: target)
            }
        }
    }
}

extension Table {
    /// The two references that together form the key, which makes this a join table; otherwise nil.
    package var joinedReferences: (Reference, Reference)? {
        let inKey = references.filter { $0.localFields.allSatisfy(key.contains) }
        guard inKey.count == 2, Set(inKey[0].localFields).isDisjoint(with: inKey[1].localFields),
            inKey[0].localFields.count + inKey[1].localFields.count == key.count
        else { return nil }
        return (inKey[0], inKey[1])
    }
}
