import Testing
@testable import SchemaModel

@Suite("Generated names")
struct SchemaNamesTests {
    @Test(arguments: [
        ("closingTime", "closing_time", "closingTime"), ("LotWatcher", "lot_watcher", "lotWatcher"),
        ("imageURL", "image_url", "imageURL"), ("TVShow", "tv_show", "tVShow"), ("URL", "url", "uRL"),
        ("UUIDVariants", "uuid_variants", "uUIDVariants"), ("LotURL", "lot_url", "lotURL"),
        ("Lot_Watcher", "lot_watcher", "lot_Watcher"), ("address2", "address2", "address2"), ("A", "a", "a"),
    ])
    func typeNamesBecomeTableAndFieldNames(_ name: String, _ snake: String, _ singular: String) {
        #expect(GeneratedNames.snakeCase(name) == snake)
        #expect(GeneratedNames.singular(ofType: name) == singular)
    }

    @Test func foreignKeyFieldsJoinReferenceAndTarget() {
        #expect(GeneratedNames.foreignKeyField(reference: "lot", target: "id") == "lotId")
        #expect(GeneratedNames.foreignKeyField(reference: "user", target: "uid") == "userUid")
    }

    /// The first lines have what the rules do to a last capital, to an `s` and to a `y`.
    @Test(arguments: [
        ("harborGateB", "harborGateBS"), ("catalogMetadata", "catalogMetadatas"),
        ("mailSettings", "mailSettingss"), ("auctionBidStats", "auctionBidStatss"),
        ("soldBy", "soldBies"), ("information", "informations"),

        ("lot", "lots"), ("lotPhoto", "lotPhotos"), ("category", "categories"), ("day", "days"),
        ("query", "queries"), ("soliloquy", "soliloquies"), ("person", "people"), ("salesPerson", "salesPeople"),
        ("woman", "women"), ("human", "humen"), ("groupChild", "groupChildren"), ("quiz", "quizzes"), ("ox", "oxen"),
        ("box", "boxes"), ("mouse", "mice"), ("dormouse", "dormouses"), ("house", "houses"), ("index", "indices"),
        ("searchIndex", "searchIndices"), ("vertex", "vertices"), ("matrix", "matrices"), ("match", "matches"),
        ("dish", "dishes"), ("address", "addresses"), ("class", "classes"), ("tax", "taxes"), ("wife", "wives"),
        ("safe", "saves"), ("cafe", "caves"), ("giraffe", "giraffes"), ("shelf", "shelves"), ("dwarf", "dwarves"),
        ("roof", "roofs"), ("leaf", "leafs"), ("thief", "thiefs"), ("analysis", "analyses"), ("basis", "bases"),
        ("crisis", "crises"), ("axis", "axes"), ("xAxis", "xAxiss"), ("datum", "data"), ("medium", "media"),
        ("stadium", "stadia"), ("album", "albums"), ("data", "datas"), ("media", "medias"), ("quota", "quotas"),
        ("buffalo", "buffaloes"), ("tomato", "tomatoes"), ("potato", "potatos"), ("hero", "heros"),
        ("photo", "photos"), ("bus", "buses"), ("status", "statuses"), ("alias", "aliases"), ("virus", "viri"),
        ("octopus", "octopi"), ("campus", "campuss"), ("lens", "lenss"), ("gas", "gass"), ("news", "newss"),
        ("series", "seriess"), ("species", "speciess"), ("equipment", "equipments"), ("money", "moneys"),
        ("sheep", "sheeps"), ("fish", "fishs"), ("catFish", "catFishes"), ("foot", "foots"), ("move", "moves"),
        ("sex", "sexes"), ("criterion", "criterions"), ("user2", "user2s"), ("phaseA", "phaseAS"),
        ("modelX", "modelXES"), ("PERSON", "PEOPLE"), ("sEO", "sEOS"), ("aIPreset", "aIPresets"),
        ("uUIDVariants", "uUIDVariantss"),
    ])
    func namesHaveEnglishPlurals(_ singular: String, _ plural: String) {
        #expect(EnglishPlural.of(singular) == plural)
    }

    @Test func literalsAndIdentifiersAreQuoted() {
        #expect(SQLName.quoted("a\"b") == "\"a\"\"b\"")
        #expect(SQLName.literal("it's") == "'it''s'")
        #expect(SQLName.literal("a\\'b") == "E'a\\\\''b'")
    }
}

@Suite("Text forms of scalars")
struct SchemaScalarTextTests {
    @Test(arguments: [
        "550e8400e29b41d4a716446655440000", "550E8400-E29B-41D4-A716-446655440000",
        "{550e8400-e29b-41d4-a716-446655440000}", "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
        "URN:UUID:550e8400-e29b-41d4-a716-446655440000", "{550e8400e29b41d4a716446655440000}",
    ])
    func uuidsOfAllSpellingsAreCanonical(_ text: String) {
        #expect(ScalarText.canonicalUUID(text) == "550e8400e29b41d4a716446655440000")
    }

    @Test(arguments: [
        "", "550e8400", "550e8400-e29b-41d4-a716-44665544000g", "550e84000e29b-41d4-a716-446655440000",
        "{550e8400e29b41d4a716446655440000", "550e8400-e29b-41d4-a716-446655440000-", "urn:uuid:",
    ])
    func notUUIDs(_ text: String) {
        #expect(ScalarText.canonicalUUID(text) == nil)
    }

    @Test func datesAreDaysOfTheCalendar() {
        for text in ["2024-02-29", "2000-02-29", "2025-12-31", "0001-01-01"] {
            #expect(ScalarText.isDate(text), "\(text)")
        }
        for text in [
            "2023-02-29", "1900-02-29", "2025-13-01", "2025-00-01", "2025-01-00", "2025-1-1", "25-01-01", "+025-01-01",
            "2025-01-01T",
        ] {
            #expect(!ScalarText.isDate(text), "\(text)")
        }
    }

    @Test func timestampsHaveOffsets() {
        for text in [
            "2025-01-01T00:00:00Z", "2025-01-01t00:00:00.123456789z", "2025-01-01T23:59:59.5+05:30",
            "1583-01-01T00:00:00-00:00",
        ] {
            #expect(ScalarText.isTimestamp(text), "\(text)")
        }
        for text in [
            "2025-01-01", "2025-01-01T00:00:00", "1582-12-31T00:00:00Z", "2025-01-01T24:00:00Z", "2025-01-01T00:60:00Z",
            "2025-01-01T00:00:60Z", "2025-01-01T00:00:00.Z", "2025-01-01T00:00:00.1234567890Z",
            "2025-01-01T00:00:00+24:00", "2025-01-01T00:00Z",
        ] {
            #expect(!ScalarText.isTimestamp(text), "\(text)")
        }
    }
}
