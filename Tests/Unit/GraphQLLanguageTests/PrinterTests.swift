import Testing

@testable import GraphQLLanguage

struct PrinterTests {
    private func parse(_ text: String) throws -> Document {
        try Parser.parseDocument(Source(text: text))
    }

    @Test func operationsArePrintedPretty() throws {
        let document = try parse(
            "query  A($id:ID!,$n:[Int!]=[1 2]@d) @auth(level:USER){mine:barn(id:$id){id ...F ...on T@x{b} ...{c}}}")
        let expected = """
            query A($id: ID!, $n: [Int!] = [1, 2] @d) @auth(level: USER) {
              mine: barn(id: $id) {
                id
                ...F
                ... on T @x {
                  b
                }
                ... {
                  c
                }
              }
            }

            """
        #expect(Printer.print(document) == expected)
    }

    @Test func typesArePrintedPretty() throws {
        let document = try parse(
            #"""
            """
            About T.

              Indented.
            """ type T implements A&B @table(name:"t") { "the id" id:ID! f("first" n:Int=1, m:Int):T }
            """#)
        let expected = #"""
            """
            About T.

              Indented.
            """
            type T implements A & B @table(name: "t") {
              "the id"
              id: ID!
              f(
                "first"
                n: Int = 1
                m: Int
              ): T
            }

            """#
        #expect(Printer.print(document) == expected)
        let others =
            "union U = A | B\n\nextend enum E @d {\n  V\n}\n\ndirective @d(a: Int) repeatable on FIELD | QUERY\n"
        #expect(Printer.print(try parse(others)) == others)
    }

    @Test func documentsArePrintedCompact() throws {
        let document = try parse(
            """
            query A ($id : ID! , $n : Int = 1) @d { a : b (c : "x" , o : { k : [1 , 2] }) { d e ... on T { f } ...G } }
            type T { a : Int b : [ Int ] }
            """)
        #expect(
            Printer.print(document, style: .compact)
                == #"query A($id:ID!,$n:Int=1)@d{a:b(c:"x",o:{k:[1,2]}){d e...on T{f}...G}}type T{a:Int b:[Int]}"#)
    }

    /// `type T` without fields followed by a shorthand query must not give the query to the type.
    @Test func shorthandAfterATypeKeepsItsKeyword() throws {
        let query = Definition.operation(
            OperationDefinition(kind: .query, selectionSet: SelectionSet([.field(Field(name: Name("a")))])))
        let document = Document(definitions: [.object(ObjectTypeDefinition(name: Name("T"))), query, query])
        #expect(Printer.print(document, style: .compact) == "type T query{a}{a}")
        #expect(try parse(Printer.print(document)).operations.count == 2)
    }

    /// `""` directly before `"about"` would open a block string.
    @Test func stringsDoNotRunTogether() throws {
        let text = #"input I{a:String="" "about"b:Int}"#
        #expect(Printer.print(try parse(text), style: .compact) == text)
    }

    @Test func selectionTextIgnoresWhatDoesNotSelect() throws {
        let stored = try parse(
            """
            # stored
            query Barns($id: ID!) @auth(level: USER) { barn(id: $id, note: \"\"\"x\"\"\") { id, ...F } }
            fragment F on Barn { name ...G } fragment G on Barn { roof } fragment Unused on Barn { x }
            """)
        let sent = try parse(
            """
            fragment G on Barn { roof }
            query Other($id: ID! = 4) {
              barn(id: $id note: "x") { id ...F }
            }
            fragment F on Barn { name ...G }
            """)
        let text = stored.selectionText(of: stored.operations[0])
        #expect(text == #"{barn(id:$id,note:"x"){id...F}}fragment F on Barn{name...G}fragment G on Barn{roof}"#)
        #expect(sent.selectionText(of: sent.operations[0]) == text)
        for changed in [
            "{ barn(id: $id) { id } }", "{ barn { id ...F } }", "{ x: barn(id: $id, note: \"x\") { id ...F } }",
        ] {
            let other = try parse("query Q " + changed)
            #expect(other.selectionText(of: other.operations[0]) != text)
        }
    }

    @Test func selectionTextEndsOnCycles() throws {
        let document = try parse("{ ...A } fragment A on T { ...B } fragment B on T { a { ...A } ...Missing }")
        #expect(
            document.selectionText(of: document.operations[0])
                == "{...A}fragment A on T{...B}fragment B on T{a{...A}...Missing}")
    }
}
