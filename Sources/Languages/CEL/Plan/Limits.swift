/// Limits on the size of a source and on the work and memory of one evaluation.
package struct Limits: Sendable {
    package static let `default` = Limits()

    /// UTF-8 bytes of a source.
    package var sourceBytesMax = 64 * 1024
    /// Nesting of a source, and depth of its tree. Bounds recursion: the default was measured to need less than 512 KiB
    /// of stack in a release build.
    package var depthMax = 100
    /// Nodes in a tree.
    package var nodesMax = 20_000
    /// Diagnostics reported per compilation.
    package var diagnosticsMax = 50
    /// Steps of one evaluation: macro iterations, elements compared or copied, code points matched against a pattern,
    /// and 64-byte blocks of text processed otherwise. The default takes some ten milliseconds.
    package var costMax = 100_000
    /// UTF-8 bytes of a string or bytes value that an evaluation creates.
    package var textBytesMax = 1024 * 1024
    /// Elements of a list that an evaluation creates.
    package var elementsMax = 100_000
    /// UTF-8 bytes of a regular expression.
    package var patternBytesMax = 1024
    /// Instructions of a compiled regular expression.
    package var patternProgramMax = 4096

    /// Nesting of lists and maps in values that are compared or created.
    static let valueDepthMax = 256

    package init() {}
}

/// The steps that an evaluation has left.
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

    /// Sets the budget to zero, so that an error absorbed by `||` does not buy further work.
    private mutating func spent() -> EvaluationError {
        remaining = 0
        return EvaluationError(.costExceeded)
    }

    /// Charges for work on text, which proceeds by words rather than bytes.
    mutating func charge(bytes: Int) throws(EvaluationError) {
        try charge(bytes / 64)
    }
}
