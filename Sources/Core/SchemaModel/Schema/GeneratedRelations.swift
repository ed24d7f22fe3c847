/// A field that a table gets because another one refers to it: `reviews_on_movie` in `Movie`.
package struct InverseRelation: Sendable {
    /// `reviews_on_movie`; `metadata_on_movie` when `isSingle`.
    package let name: String
    /// The table that holds the reference.
    package let child: Table
    /// Of `child`.
    package let reference: Reference
    /// One-to-one: at most one row, null when there is none.
    package let isSingle: Bool
}

/// A field that leads through a join table, a table whose key is exactly its two references:
/// `actors_via_MovieActor` in `Movie`.
package struct ManyToManyRelation: Sendable {
    package let name: String
    package let join: Table
    /// Of `join`, to the table that has the field.
    package let near: Reference
    /// Of `join`, to `target`.
    package let far: Reference
    package let target: Table
}

extension Schema {
    /// The generated relation fields of a type, in the order of the SDL.
    package func inverseRelations(ofType typeName: String) -> [InverseRelation] {
        (tables + views).flatMap { child in
            child.references.filter { $0.targetType == typeName }.map { reference in
                InverseRelation(
                    name: GeneratedNames.inverse(of: child, field: reference.field, isSingle: reference.isUnique),
                    child: child, reference: reference, isSingle: reference.isUnique)
            }
        }
    }

    /// The generated many-to-many fields of a type, in the order of the SDL.
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
    /// The two references that together are the key, which makes this a join table.
    package var joinedReferences: (Reference, Reference)? {
        let inKey = references.filter { $0.localFields.allSatisfy(key.contains) }
        guard inKey.count == 2, Set(inKey[0].localFields).isDisjoint(with: inKey[1].localFields),
            inKey[0].localFields.count + inKey[1].localFields.count == key.count
        else { return nil }
        return (inKey[0], inKey[1])
    }
}
