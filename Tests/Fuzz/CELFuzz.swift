import CEL

private let environment = Environment(
    variables: [
        VariableDeclaration(name: "auth", type: .dyn), VariableDeclaration(name: "vars", type: .map(.string, .dyn)),
        VariableDeclaration(name: "this", type: .dyn),
    ],
    nullSafePaths: [["auth"]], allowNilLiteral: true)

private struct Values: Activation {
    func value(ofVariable index: Int) -> Value? {
        switch index {
        case 0: .null
        case 1: .map(MapValue([("a", .int(1)), ("b", .string("x")), ("c", .list([.double(0.5), .null]))]))
        default: .string("text")
        }
    }
}

/// Evaluates every expression that compiles: it ends in a value or an error within the limits of evaluation.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    guard let program = try? environment.compile(text) else { return 0 }
    _ = try? program.evaluate(Values())
    for part in program.conjuncts { _ = try? part.program.evaluate(Values()) }
    return 0
}
