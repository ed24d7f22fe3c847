import Testing

/// Names that projects bring from elsewhere, with the help that leads to the right ones.
@Suite struct NameHelpTests {
    private static let schema = """
        type User @table(key: "uid") { uid: String! name: String! }
        type Lot @table { title: String! seller: User startPrice: Int! }
        type LotPhoto @table { lot: Lot! url: String! }
        type Bid @table { lot: Lot! user: User! amount: Int! }
        type Watch @table(key: ["user", "lot"]) { user: User! lot: Lot! }
        type Cheap @view(sql: "SELECT title FROM lot WHERE start_price < 10") { title: String }
        """

    private func errors(_ text: String) -> [String] { CatalogHarness.errors(text, schema: Self.schema) }

    @Test(arguments: [
        ("Lot_Insert!", "Lot_Data"), ("[Lot_Insert!]!", "Lot_Data"), ("Lot_Update", "Lot_Data"),
        ("Lot_Upsert!", "Lot_Data"), ("Lot_Input!", "Lot_Data"), ("Lot_OrderBy", "Lot_Order"),
    ])
    func formerTypesOfVariablesLeadToData(type: String, meant: String) {
        let found = errors("mutation M($lot: \(type)) { lot_insert(data: $lot) }")
        #expect(found.first?.contains("unknown-type") == true, "\(found)")
        #expect(found.first?.contains("did you mean \"\(meant)\"") == true, "\(found)")
    }

    @Test func viewsHaveNoDataTypeToSuggest() {
        let found = errors("mutation M($lot: Cheap_Insert) { lot_delete(id: $lot) }")
        #expect(found.first?.contains("unknown-type") == true && found.first?.contains("Cheap_Data") == false)
    }

    @Test(arguments: [
        ("query Q { lots { photos { url } } }", #""Lot" has no field "photos" [did you mean "lotPhotos_on_lot"?]"#),
        ("query Q { lots { lotPhotos { url } } }", #"[did you mean "lotPhotos_on_lot"?]"#),
        ("query Q { lots { photo { url } } }", #"[did you mean "lotPhotos_on_lot"?]"#),
        ("query Q { lots { bids { amount } } }", #"[did you mean "bids_on_lot"?]"#),
        ("query Q { lots { users { name } } }", #"[did you mean "users_via_Watch"?]"#),
        ("query Q { users { lots { title } } }", #"[did you mean "lots_on_seller" or "lots_via_Watch"?]"#),
        ("query Q { lots(where: {bids: {exist: {}}}) { title } }", #"[did you mean "bids_on_lot"?]"#),
        (
            #"mutation M { lot_insert(data: {title: "a", startPrice: 1, photos: [{url: "b"}]}) }"#,
            #"[did you mean "lotPhotos_on_lot"?]"#
        ),
    ])
    func relationsAreFoundByWhatTheyLeadTo(text: String, message: String) {
        let found = errors(text)
        #expect(found.count == 1 && found.first?.contains(message) == true, "\(found)")
    }

    // MARK: Below the fields of a mutation

    private func below(_ selection: String, of field: String = "lot_delete", _ arguments: String? = nil) -> [String] {
        let id = "id: \"\(CatalogHarness.uuidA)\""
        return errors("mutation M { \(field)(\(arguments ?? id)) { \(selection) } }").map { error in
            String(error[(error.firstIndex(of: " ") ?? error.startIndex)...].dropFirst())
        }
    }

    @Test func columnsAreReturned() {
        #expect(below("id sellerUid price: startPrice @check(expr: \"this > 0\") title @redact __typename") == [])
    }

    @Test(arguments: [
        ("seller { name }", "seller", #"select "sellerUid", or read the row in a query"#),
        ("seller", "seller", #"select "sellerUid", or read the row in a query"#),
        ("bids_on_lot { amount }", "bids_on_lot", "read the row in a query"),
        ("users_via_Watch { name }", "users_via_Watch", "read the row in a query"),
        ("_id", "_id", "read the row in a query"), ("_count", "_count", "read the row in a query"),
        ("startPrice_sum", "startPrice_sum", "read the row in a query"),
    ])
    func fieldsOfTheRowThatAreNoColumnsAreToldFromUnknownOnes(selection: String, name: String, help: String) {
        #expect(
            below(selection) == [
                "unknown-field: \"lot_delete\" returns columns of the row only, not \"\(name)\" [\(help)]"
            ])
    }

    @Test func otherFieldsAreUnknown() {
        #expect(below("titel") == [#"unknown-field: "Lot" has no field "titel" [did you mean "title"?]"#])
        #expect(below("nope { deeper }") == [#"unknown-field: "Lot" has no field "nope""#])
    }

    @Test(arguments: [
        ("lot_deleteMany", "all: true", "Int!, the number of rows"),
        ("lot_updateMany", "all: true, data: {title: \"a\"}", "Int!, the number of rows"),
        ("_execute", "sql: \"DELETE FROM lot\"", "Int, the number of rows"),
        ("_executeReturning", "sql: \"DELETE FROM lot RETURNING id\"", "JSON of any form"),
    ])
    func numbersHaveNoFields(field: String, arguments: String, result: String) {
        #expect(
            below("id", of: field, arguments) == [
                "unexpected-selection: \"\(field)\" returns \(result), which has no fields to select"
            ])
    }
}
