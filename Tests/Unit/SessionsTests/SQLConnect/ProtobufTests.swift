import JSON
import LiveModel
import SeededRandom
import Sessions
import Testing

/// Messages of the gRPC surface. The bytes were written by Google's `protobuf` for Python from the same definitions.
@Suite struct ProtobufTests {
    private func bytes(_ hex: String) -> [UInt8] {
        var rest = hex.utf8[...]
        var bytes: [UInt8] = []
        while rest.count >= 2 {
            bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    @Test func requestsAreDecoded() throws {
        let message = bytes(
            """
            0a016e120438467c301a81011201411a7c0a070a0162120220010a0e0a0164120911000000000000f83f0a0e0a016912\
            0911000000000000f03f0a240a016c121f321d0a0911000000000000f03f0a031a01780a0b2a090a070a016b12022000\
            0a070a016e120208000a170a016f12122a100a0e0a017a120911000000000000e0bf0a090a017312041a02c3bc521a0a\
            15582d46697265626173652d417574682d546f6b656e120174
            """
        )
        let variables: JSONObject = [
            "b": true, "d": 1.5, "i": 1, "l": [1, "x", ["k": false]], "n": .null, "o": ["z": -0.5], "s": "ü",
        ]
        #expect(
            try StreamProtobuf.decode(message)
                == StreamRequest(
                    name: "n", requestID: "8F|0", headers: ["x-firebase-auth-token": "t"],
                    kind: .subscribe(.init(operationName: "A", variables: variables))))
        let unary = try StreamProtobuf.unaryRequest(bytes("0a016e1201411a0c0a0a0a02696412041a026d31"))
        #expect(unary.name == "n" && unary.wanted == .init(operationName: "A", variables: ["id": "m1"]))
    }

    @Test func responsesAreEncoded() {
        let entities =
            #"[{"path":["novel"],"entityId":"e1"},{"path":["novel","remarks",0,"x"],"entityIds":["e2","e3"]}]"#
        let result = OperationAnswer(
            body: Array(#"{"novel":{"id":"m1","tags":["a",null,true,2.5],"year":1999}}"#.utf8),
            entities: Array(entities.utf8))
        #expect(
            StreamProtobuf.encode(StreamResponse(requestID: "1", answer: result))
                == bytes(
                    """
                    0a013112500a4e0a056e6f76656c12452a430a0a0a02696412041a026d310a220a0474616773121a32180a031a01610a\
                    0208000a0220010a091100000000000004400a110a047965617212091100000000003c9f4032410a0f0a090a071a056e\
                    6f76656c120265310a2e0a240a071a056e6f76656c0a091a0772656d61726b730a091100000000000000000a031a0178\
                    1a0265321a026533
                    """
                ))
        let error = RequestError(.permissionDenied, "no", path: [.key("novels"), .index(1)])
        #expect(
            StreamProtobuf.encode(StreamResponse(requestID: "2", answer: OperationAnswer(failed: [error])))
                == bytes("0a01321a1f0a026e6f1a150a081a066e6f76656c730a0911000000000000f03f22021007"))
    }

    @Test func readingNeverTraps() {
        var random = SeededRandom(seed: 42)
        let valid = StreamProtobuf.encode(
            StreamResponse(
                requestID: "r", answer: OperationAnswer(body: Array(#"{"a":[1,"x",null,{"b":true}]}"#.utf8))))
        for seed in 0..<20_000 {
            var message = valid
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<message.count, using: &random)
                message[index] = UInt8.random(in: 0...255, using: &random)
            }
            if seed % 3 == 0 { message = Array(message.prefix(Int.random(in: 0..<message.count, using: &random))) }
            _ = try? StreamProtobuf.decode(message)
            _ = try? StreamProtobuf.unaryRequest(message)
        }
    }

    @Test func deepValuesAreRefused() {
        var value: [UInt8] = [0x08, 0x00]
        for _ in 0..<10_000 {
            // Value { list_value { values } }
            value = field(6, field(1, value))
            if value.count > 60_000 { break }
        }
        let execute = field(2, Array("A".utf8)) + field(3, field(1, field(1, Array("k".utf8)) + field(2, value)))
        #expect(throws: StreamFrameError.self) { try StreamProtobuf.decode(field(2, [0x31]) + field(4, execute)) }
    }

    private func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        var count = content.count
        var length: [UInt8] = []
        repeat {
            length.append(UInt8(count & 0x7F) | (count > 0x7F ? 0x80 : 0))
            count >>= 7
        } while count > 0
        return [number << 3 | 2] + length + content
    }

    @Test func unknownFieldsAreSkippedAndTheLastKindCounts() throws {
        let message =
            field(9, [1, 2, 3]) + field(2, Array("7".utf8)) + field(5, []) + [0x78, 0x96, 0x01] + field(6, [])
        #expect(try StreamProtobuf.decode(message) == StreamRequest(requestID: "7", kind: .cancel))
    }
}
