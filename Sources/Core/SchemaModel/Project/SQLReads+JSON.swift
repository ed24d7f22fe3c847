package import JSON

extension SQLReads {
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

extension SQLReads.Finding {
    /// `{"tables":[["bid",["lot_id"]],["lot",null]],"storedOrder":"none","readsTime":false,"definitions":{…}}`
    package var json: JSONValue {
        [
            "tables": .array(
                tables.map { table in
                    .array([.string(table.name), table.columns.map { .array($0.map { .string($0) }) } ?? .null])
                }),
            "storedOrder": .string(storedOrder.rawValue), "readsTime": .bool(readsTime),
            "definitions": SQLDigests.json(definitions),
        ]
    }

    fileprivate init?(json value: JSONValue) {
        guard let stored = value["tables"]?.arrayValue, let readsTime = value["readsTime"]?.boolValue,
            let storedOrder = value["storedOrder"]?.stringValue.flatMap(SQLReads.StoredOrder.init(rawValue:)),
            let definitions = SQLDigests.parse(value["definitions"])
        else { return nil }
        var tables: [SQLReads.Table] = []
        for item in stored {
            guard let parts = item.arrayValue, parts.count == 2, let name = parts[0].stringValue else { return nil }
            if parts[1].isNull {
                tables.append(SQLReads.Table(name: name, columns: nil))
                continue
            }
            guard let columns = parts[1].arrayValue?.map(\.stringValue), !columns.contains(nil) else { return nil }
            tables.append(SQLReads.Table(name: name, columns: columns.compactMap { $0 }))
        }
        self.init(tables: tables, storedOrder: storedOrder, readsTime: readsTime, definitions: definitions)
    }
}
