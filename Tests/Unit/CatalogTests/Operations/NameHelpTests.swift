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
}
