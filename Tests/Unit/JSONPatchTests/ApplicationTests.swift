import JSON
import JSONPatch
import Testing

/// RFC 6902, appendix A.
@Suite struct ApplicationTests {
    @Test(arguments: [
        (#"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux"}]"#, #"{"foo":"bar","baz":"qux"}"#),
        (#"{"foo":["bar","baz"]}"#, #"[{"op":"add","path":"/foo/1","value":"qux"}]"#, #"{"foo":["bar","qux","baz"]}"#),
        (#"{"baz":"qux","foo":"bar"}"#, #"[{"op":"remove","path":"/baz"}]"#, #"{"foo":"bar"}"#),
        (#"{"foo":["bar","qux","baz"]}"#, #"[{"op":"remove","path":"/foo/1"}]"#, #"{"foo":["bar","baz"]}"#),
        (
            #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"replace","path":"/baz","value":"boo"}]"#,
            #"{"baz":"boo","foo":"bar"}"#
        ),
        (
            #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
            #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
            #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#
        ),
        (
            #"{"foo":["all","grass","cows","eat"]}"#, #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
            #"{"foo":["all","cows","eat","grass"]}"#
        ),
        (
            #"{"baz":"qux","foo":["a",2,"c"]}"#,
            #"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
            #"{"baz":"qux","foo":["a",2,"c"]}"#
        ),
        (
            #"{"foo":["bar"]}"#, #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
            #"{"foo":["bar",["abc","def"]]}"#
        ),
        (#"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":10}]"#, #"{"/":9,"~1":10}"#),
        (#"{"a":1}"#, #"[{"op":"copy","from":"/a","path":"/b"}]"#, #"{"a":1,"b":1}"#),
        (#"{"a":1}"#, #"[{"op":"replace","path":"","value":[]}]"#, "[]"),
    ]) func patchesAreApplied(document: String, patch: String, expected: String) throws {
        let applied = try JSONPatch.apply(
            try JSONParser.parse(Array(patch.utf8)), to: try JSONParser.parse(Array(document.utf8)))
        #expect(applied == (try JSONParser.parse(Array(expected.utf8))))
    }

    @Test(arguments: [
        "{}", #"[{"op":"add","path":"/baz/bat","value":1}]"#, #"[{"op":"remove","path":"/nothing"}]"#,
        #"[{"op":"replace","path":"/nothing","value":1}]"#, #"[{"op":"test","path":"/foo","value":"no"}]"#,
        #"[{"op":"add","path":"/list/3","value":1}]"#, #"[{"op":"add","path":"/list/01","value":1}]"#,
        #"[{"op":"move","from":"/list","path":"/list/0"}]"#, #"[{"op":"spin","path":"/foo"}]"#, #"[{"op":"add"}]"#,
        #"[{"op":"add","path":"foo","value":1}]"#, #"[{"op":"add","path":"/foo"}]"#, "[3]",
        #"[{"op":"remove","path":""}]"#,
    ]) func patchesThatDoNotFitAreRefused(patch: String) throws {
        let document: JSONValue = ["foo": "bar", "list": [1, 2]]
        #expect(throws: PatchError.self) { try JSONPatch.apply(try JSONParser.parse(Array(patch.utf8)), to: document) }
    }
}
