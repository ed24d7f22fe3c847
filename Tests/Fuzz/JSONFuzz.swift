import JSON

/// Parses any bytes; a value that parses is written as a text that parses to the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let value = try? JSONParser.parse(bytes) else { return 0 }
    let text = JSONWriter.compact(value)
    guard let again = try? JSONParser.parse(text) else {
        fatalError("does not parse again: \(String(decoding: text, as: UTF8.self))")
    }
    precondition(JSONWriter.compact(again) == text, "is written differently")
    return 0
}
