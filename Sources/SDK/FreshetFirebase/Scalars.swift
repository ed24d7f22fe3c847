public import Foundation
public import FreshetClient

extension AnyValue {
    /// The JSON form of a value.
    /// - Throws: `EncodingError` if it has none.
    public init(codableValue: some Encodable) throws {
        try self.init(jsonText: String(decoding: JSONEncoder().encode(codableValue), as: UTF8.self))
    }

    /// - Throws: `DecodingError` if this is no such value.
    public func decodeValue<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        try JSONDecoder().decode(Value?.self, from: Data(jsonText.utf8))
    }
}

extension LocalDate {
    /// Reads `YYYY-MM-DD`.
    /// - Throws: `FreshetError.unreadable`.
    public init(localDateString: String) throws {
        guard let date = LocalDate(localDateString) else {
            throw FreshetError(.unreadable, "expected a date YYYY-MM-DD")
        }
        self = date
    }

    /// The day of an instant in the device's time zone; of one beyond the years 1 to 9999 the nearest day.
    public init(date: Date) {
        let parts = Calendar(identifier: .gregorian).dateComponents([.era, .year, .month, .day], from: date)
        let day =
            parts.era == 1
            ? LocalDate(year: parts.year ?? 0, month: parts.month ?? 0, day: parts.day ?? 0)
            : LocalDate(year: 1, month: 1, day: 1)
        // Every number that is a year of four digits, its month and its day make a date.
        guard let day = day ?? LocalDate(year: 9_999, month: 12, day: 31) else { preconditionFailure("\(parts)") }
        self = day
    }
}
