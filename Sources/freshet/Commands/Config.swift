internal import ArgumentParser
internal import Settings

struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the settings in effect, where each comes from, or the documented reference.")

    @Flag(help: "Print the reference file: every key with its unit, range and default.")
    var reference = false

    @OptionGroup var options: SettingsOptions

    func run() {
        if reference {
            Terminal.out(SettingTable.referenceYAML)
            return
        }
        for row in options.load(.serve).values {
            let value = row.key.secret && row.origin != "default" ? "(hidden)" : row.value.text
            Terminal.out("\(row.key.path) = \(value)    # \(row.origin)")
        }
    }
}
