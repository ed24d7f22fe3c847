import Foundation
import FreshetTypes
import JSON
import Testing

private enum Aspect: OpenEnum {
    case WIDE, TALL
    case _UNKNOWN(String)

    static let knownCases: [Aspect] = [.WIDE, .TALL]

    init(name: String) {
        switch name {
        case "WIDE": self = .WIDE
        case "TALL": self = .TALL
        default: self = ._UNKNOWN(name)
        }
    }

    var name: String {
        switch self {
        case .WIDE: "WIDE"
        case .TALL: "TALL"
        case ._UNKNOWN(let name): name
        }
    }
}

@Suite struct TypesTests {
    /// Seed row 11.
    @Test func anUnknownEnumValueIsKept() throws {
        #expect(try Aspect(result: "WIDE") == .WIDE)
        #expect(try Aspect(result: "ROUND") == ._UNKNOWN("ROUND"))
        #expect(try Aspect(result: "ROUND").variableValue == "ROUND")
    }

    /// Seed row 16: the scalars.
    @Test func scalarsAreReadAndWritten() throws {
        #expect(try Int64(result: "9007199254740993") == 9_007_199_254_740_993)
        #expect(try Int64(result: 5) == 5)
        #expect(Int64(7).variableValue == "7")
        #expect(try Double(result: 3) == 3)
        let uuid = try UUID(result: "0123456789abcdef0123456789ABCDEF")
        #expect(uuid.variableValue == "0123456789abcdef0123456789abcdef")
        #expect(try UUID(result: "01234567-89ab-cdef-0123-456789abcdef") == uuid)
        #expect(try LocalDate(result: "2024-02-29").variableValue == "2024-02-29")
        #expect(try Timestamp(result: "2026-11-27T08:00:00.123456Z").variableValue == "2026-11-27T08:00:00.123456Z")
        #expect(try AnyValue(result: ["a": [1, nil]])["a"]?[0] == 1)
        #expect(try [String]?(result: nil) == nil)
        #expect(try [Int?](result: [1, nil]) == [1, nil])
    }

    @Test(arguments: ["2023-02-29", "2024-13-01", "2024-00-10", "2024-1-01", "24-01-01", "2024-01-32", "0000-01-01"])
    func impossibleDatesAreRefused(text: String) { #expect(LocalDate(text) == nil) }

    @Test func datesAreFourBytesAndOrdered() throws {
        #expect(MemoryLayout<LocalDate>.size == 4)
        let dates = ["1999-12-31", "2000-01-01", "2000-02-01", "2000-02-02"].compactMap(LocalDate.init)
        #expect(dates.count == 4 && dates.sorted() == dates)
        for date in dates { #expect(LocalDate(utcDayOf: date.utcMidnight) == date) }
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2000-03-01T00:00:00+01:30", 951_863_400), ("1969-12-31T23:59:59.5Z", -1),
        ("9999-12-31T23:59:59Z", 253_402_300_799), ("0001-01-01T00:00:00Z", -62_135_596_800),
    ])
    func timesAreRead(text: String, seconds: Int64) { #expect(Timestamp(text)?.seconds == seconds) }

    @Test(arguments: ["2024-02-30T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00.Z"])
    func impossibleTimesAreRefused(text: String) { #expect(Timestamp(text) == nil) }

    @Test func timesPrintWhatTheyRead() {
        for text in ["2024-02-29T12:34:56Z", "2024-02-29T12:34:56.789Z", "1969-12-31T23:59:59.000001Z"] {
            #expect(Timestamp(text)?.description == text)
        }
    }

    @Test func absentVariablesAreNotSent() {
        var writer = VariableWriter()
        writer.set("a", Sent<String>.absent)
        writer.set("b", Sent<String>.null)
        writer.set("c", "x" as Sent<String>)
        #expect(writer.object == ["b": nil, "c": "x"])
    }

    @Test func anErrorOfAResultSaysWhere() throws {
        struct Row: OperationData {
            let price: Int
            init(from object: ObjectReader) throws(ResultError) { price = try object.value("price") }
        }
        let object = try ObjectReader(["lots": [["price": 1], ["price": "x"]]] as AnyValue)
        let error = #expect(throws: ResultError.self) { try object.value("lots", as: [Row].self) }
        #expect(error?.description == "lots.1.price: expected an integer, found a text")
    }

    /// docs/reference/idempotency.md: 22 characters for those who are not signed in.
    @Test func keysThatTheServerWouldRefuseAreNoKeys() {
        let key = IdempotencyKey()
        #expect(key != IdempotencyKey() && IdempotencyKey(key.description) == key)
        #expect(IdempotencyKey(String(repeating: "k", count: 22)) != nil)
        #expect(IdempotencyKey(String(repeating: "k", count: 255)) != nil)
        for count in [0, 21, 256] { #expect(IdempotencyKey(String(repeating: "k", count: count)) == nil) }
        for character in [" ", "\"", "\\", "é", "\n"] {
            #expect(IdempotencyKey(String(repeating: "k", count: 30) + character) == nil)
        }
    }
}
