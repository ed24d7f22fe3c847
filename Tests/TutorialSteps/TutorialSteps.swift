/// Runs a step of the tutorial in docs/clients/swift.md: the first argument is its number, the others are its own.
@main struct TutorialSteps {
    static func main() async {
        let steps = [step1, step2, step3, step4, step5]
        guard let number = CommandLine.arguments.dropFirst().first.flatMap(Int.init),
            steps.indices.contains(number - 1)
        else { preconditionFailure("the first argument is a number from 1 to \(steps.count)") }
        await steps[number - 1](Array(CommandLine.arguments.dropFirst(2)))
    }
}
