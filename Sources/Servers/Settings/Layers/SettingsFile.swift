import Yams

/// A parsed settings file: values by path with their lines, and its problems.
///
/// Parsed here because the configuration library's own YAML provider keeps no line numbers. Anchors are supported,
/// merge keys (`<<`) are not.
struct SettingsFile {
    /// Longer files are refused without parsing.
    static let bytesMax = 1 << 20

    private(set) var values: [String: SettingKey.Raw] = [:]
    private(set) var lines: [String: Int] = [:]
    private(set) var problems: [SettingsError.Problem] = []
    private let name: String

    /// - Parameter name: the file's name in messages.
    init(name: String, text: String) {
        self.name = name
        guard text.utf8.count <= Self.bytesMax else {
            problems.append(.init(origin: name, message: "is longer than \(Self.bytesMax) bytes"))
            return
        }
        do {
            guard let root = try Yams.compose(yaml: text), !Self.isNull(root) else { return }
            guard let mapping = root.mapping else {
                report(root.mark, "the file must be a mapping of sections")
                return
            }
            read(mapping, under: "")
        } catch let error as YamlError {
            report(error)
        } catch {
            problems.append(.init(origin: name, message: "is not YAML"))
        }
    }

    private mutating func read(_ mapping: Node.Mapping, under parent: String) {
        for (keyNode, node) in mapping {
            guard let key = keyNode.scalar?.string else {
                report(keyNode.mark, "a key must be a word")
                continue
            }
            let path = parent.isEmpty ? key : "\(parent).\(key)"
            if let setting = SettingTable.byPath[path] {
                read(node, of: setting, at: keyNode.mark)
            } else if SettingTable.keys.contains(where: { $0.path.hasPrefix(path + ".") }) {
                readSection(node, path)
            } else {
                report(keyNode.mark, SettingsLayers.unknown(path))
            }
        }
    }

    private mutating func readSection(_ node: Node, _ path: String) {
        if let mapping = node.mapping {
            read(mapping, under: path)
        } else if !Self.isNull(node) {
            report(node.mark, "\(path) is a section and takes settings, not a value")
        }
    }

    private mutating func read(_ node: Node, of setting: SettingKey, at mark: Mark?) {
        if values[setting.path] != nil {
            report(mark, "\(setting.path) is set a second time")
            return
        }
        switch node {
        case .scalar(let scalar) where !Self.isNull(node):
            values[setting.path] = .text(scalar.string)
        case .scalar:
            report(mark, "\(setting.path) has no value")
        case .sequence where setting.kind != .stringList:
            report(mark, "\(setting.path) takes one value, not a list")
        case .sequence(let sequence):
            let elements = sequence.compactMap { $0.scalar?.string }
            if elements.count == sequence.count {
                values[setting.path] = .list(elements)
            } else {
                report(mark, "\(setting.path) takes a list of single values")
            }
        case .mapping, .alias:
            report(mark, "\(setting.path) takes a value, not a section")
        }
        lines[setting.path] = mark?.line
    }

    private static func isNull(_ node: Node) -> Bool {
        guard case .scalar(let scalar) = node, scalar.style == .plain || scalar.style == .any else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }

    private mutating func report(_ mark: Mark?, _ message: String) {
        problems.append(.init(origin: mark.map { "\(name):\($0.line)" } ?? name, message: message))
    }

    /// Reduces the YAML parser's error to one line.
    private mutating func report(_ error: YamlError) {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            report(mark, "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            report(context.mark, "set a second time: \(duplicates.sorted().joined(separator: ", "))")
        case .reader(let problem, _, _, _):
            problems.append(.init(origin: name, message: "not YAML: \(problem)"))
        default:
            problems.append(.init(origin: name, message: "is not YAML"))
        }
    }
}
