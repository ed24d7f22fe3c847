import GraphQLLanguage

/// Parses any bytes; a document that parses prints to a text that parses to the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let document = try? Parser.parseDocument(Source(name: "fuzz", bytes: bytes)) else { return 0 }
    for style in [Printer.Style.pretty, .compact] {
        let text = Printer.print(document, style: style)
        guard let again = try? Parser.parseDocument(Source(text: text)) else {
            fatalError("does not parse again: \(text)")
        }
        precondition(Printer.print(again, style: style) == text, "prints differently: \(text)")
    }
    return 0
}
