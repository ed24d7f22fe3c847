package import JSON

extension SQLWrites {
    /// The findings by text, as they are stored with a deployment.
    package var json: JSONValue {
        var object = JSONObject()
        for (text, finding) in findings.sorted(by: { $0.key < $1.key }) { object[text] = finding.json }
        return .object(object)
    }

    /// - Returns: nil if the value is not in the format of `json`.
    package init?(json value: JSONValue) {
        guard let object = value.objectValue else { return nil }
        var findings: [String: Finding] = [:]
        for entry in object.entries {
            guard let finding = Finding(json: entry.value) else { return nil }
            findings[entry.key] = finding
        }
        self.init(findings)
    }
}

extension SQLWrites.Finding {
    /// `{"tables":[["bid",true,false,["amount"]]],"definitions":{…}}`: the table, whether rows are inserted and
    /// deleted, and the columns that are set; `true` for any, null for none.
    fileprivate var json: JSONValue {
        ["tables": .array(tables.map(\.json)), "definitions": SQLDigests.json(definitions)]
    }

    fileprivate init?(json value: JSONValue) {
        guard let stored = value["tables"]?.arrayValue, let definitions = SQLDigests.parse(value["definitions"]) else {
            return nil
        }
        var tables: [SQLWrites.Table] = []
        for item in stored {
            guard let table = SQLWrites.Table(json: item) else { return nil }
            tables.append(table)
        }
        self.init(tables: tables, definitions: definitions)
    }
}

extension SQLWrites.Table {
    fileprivate var json: JSONValue {
        let updates: JSONValue =
            switch updates {
            case .none: .null
            case .columns(let names): .array(names.map { .string($0) })
            case .anyColumn: true
            }
        return [.string(name), .bool(inserts), .bool(deletes), updates]
    }

    fileprivate init?(json value: JSONValue) {
        guard let parts = value.arrayValue, parts.count == 4, let name = parts[0].stringValue,
            let inserts = parts[1].boolValue, let deletes = parts[2].boolValue
        else { return nil }
        let updates: SQLWrites.Updates
        if parts[3].isNull {
            updates = .none
        } else if parts[3].boolValue == true {
            updates = .anyColumn
        } else {
            guard let names = parts[3].arrayValue?.map(\.stringValue), !names.contains(nil) else { return nil }
            updates = .columns(names.compactMap { $0 })
        }
        self.init(name: name, inserts: inserts, deletes: deletes, updates: updates)
    }
}

/// Digests of definitions by key.
package enum SQLDigests {
    /// Returns the digest that stands for two of one definition: one that no definition has if they differ, because the
    /// definition changed while findings were made.
    package static func common(_ first: String, _ second: String) -> String { first == second ? first : "" }

    /// The stored form.
    static func json(_ digests: [String: String]) -> JSONValue {
        var object = JSONObject()
        for (key, digest) in digests.sorted(by: { $0.key < $1.key }) { object[key] = .string(digest) }
        return .object(object)
    }

    /// - Returns: nil if the value is not in the format of `json`.
    static func parse(_ value: JSONValue?) -> [String: String]? {
        guard let object = value?.objectValue else { return nil }
        var digests: [String: String] = [:]
        for entry in object.entries {
            guard let digest = entry.value.stringValue else { return nil }
            digests[entry.key] = digest
        }
        return digests
    }
}
