/// The function that a call denotes: `a.b.f(x)` calls the function `a.b.f` if it exists, otherwise the method `f` of
/// `a.b`.
struct CallResolution {
    let name: String
    let function: NameTable.Function?
    let isInstance: Bool
    /// The arguments, preceded by the receiver of a method call.
    let operands: [Expression]

    init(
        _ name: String, target: Expression?, arguments: [Expression], names: NameTable, isLocal: (String) -> Bool
    ) {
        guard let target else {
            let isAbsolute = name.hasPrefix(".")
            self.name = isAbsolute ? String(name.dropFirst()) : name
            function = names.function(named: self.name, isAbsolute: isAbsolute)
            isInstance = false
            operands = arguments
            return
        }
        if let qualified = QualifiedName(target), qualified.isAbsolute || !isLocal(qualified.parts[0]),
            let function = names.function(named: qualified.text + "." + name, isAbsolute: qualified.isAbsolute)
        {
            self.name = qualified.text + "." + name
            self.function = function
            isInstance = false
            operands = arguments
            return
        }
        self.name = name
        function = names.function(named: name, isAbsolute: true)
        isInstance = true
        operands = [target] + arguments
    }
}

extension Environment {
    func overloads(of call: CallResolution) -> [Overload] {
        switch call.function {
        case .declared(let index): functions[index].overloads
        case .standard(let name): StandardDeclarations.overloads[name] ?? []
        case nil: []
        }
    }
}
