/// Bounds on the size of a source and on the work and the growth of one evaluation.
package struct Limits: Sendable {
    package static let `default` = Limits()

    /// UTF-8 bytes of a source.
    package var sourceBytesMax = 64 * 1024
    /// Nesting of a source, and depth of its tree. Bounds recursion: the default was measured to need less than 512 KiB of
    /// stack in a release build.
    package var depthMax = 100
    /// Nodes of a tree.
    package var nodesMax = 20_000
    /// Diagnostics of one compilation.
    package var diagnosticsMax = 50
    /// Steps of one evaluation: iterations of macros, elements compared or copied, code points matched against a
    /// pattern, 64-byte pieces of text otherwise handled. The default takes some ten milliseconds.
    package var costMax = 100_000
    /// UTF-8 bytes of a string or bytes made by an evaluation.
    package var textBytesMax = 1024 * 1024
    /// Elements of a list made by an evaluation.
    package var elementsMax = 100_000
    /// UTF-8 bytes of a regular expression.
    package var patternBytesMax = 1024
    /// Instructions of a compiled regular expression.
    package var patternProgramMax = 4096

    /// Nesting of lists and maps in values that are compared, and of those an evaluation can make.
    static let valueDepthMax = 256

    package init() {}
}

/// What is left of the steps that an evaluation may take.
struct Budget {
    private var remaining: Int

    init(remaining: Int) {
        self.remaining = remaining
    }

    @inline(__always)
    mutating func charge(_ steps: Int) throws(EvaluationError) {
        remaining -= steps
        if remaining < 0 { throw spent() }
    }

    /// Stays spent, so that an error absorbed by `||` does not buy further work.
    private mutating func spent() -> EvaluationError {
        remaining = 0
        return EvaluationError(.costExceeded)
    }

    /// For work on texts, which goes by words rather than by bytes.
    mutating func charge(bytes: Int) throws(EvaluationError) {
        try charge(bytes / 64)
    }
}
