/// What a call in a source means: `a.b.f(x)` is the function `a.b.f` when there is one, otherwise the method `f` of `a.b`.
struct CallResolution {
    let name: String
    let function: NameTable.Function?
    let isInstance: Bool
    /// The receiver, if any, is the first.
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
