import ArgumentParser
import Settings

struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the settings in effect and the source of each, or the documented reference.")

    @Flag(help: "Print the reference file: every key with its unit, range and default.")
    var reference = false

    @Flag(name: .customLong("print"), help: "Print the settings in effect; this is the default.")
    var printsEffective = false

    @OptionGroup var options: SettingsOptions

    func run() {
        if reference {
            Terminal.out(SettingTable.referenceYAML)
            return
        }
        Terminal.out(options.load(.serve).text)
    }
}
