import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("JSON.Document", .limited)
struct JSONDocumentTests {
    struct User: Codable, Equatable {
        var name: String
        var tags: [String]
    }

    private let text =
        #"{"user":{"name":"Ada \u00e9","tags":["x","y"]},"n":[1,2.5,12345678901234567890,true,null],"é":"\n","":7}"#

    @Test("Each part equals the part of the value")
    func parts() throws {
        let document = try JSON.Document(text: text)
        let value = try JSON(text: text)
        #expect(document.value == value)
        #expect(document["user"].value == value["user"])
        #expect(document["user"]["name"].string == "Ada é")
        #expect(document["user"]["tags"][1].string == "y")
        #expect(document["n"][0].int == 1 && document["n"][1].double == 2.5)
        #expect(document["n"][2].number?.description == "12345678901234567890")
        #expect(document["n"][3].bool == true && document["n"][4].isNull)
        #expect(document["e\u{301}"].string == "\n" && document[""].int == 7)
        #expect(document["user"].description == value["user"].description)
        #expect(document.count == 4 && document["n"].count == 5 && document[""].count == 0)
    }

    @Test("A missing path is null")
    func missing() throws {
        let document = try JSON.Document(text: text)
        for part in [
            document["nobody"], document["n"][5], document["n"][-1], document["n"]["x"], document["user"][0],
            document["a"]["b"][3], document["n"][0][0],
        ] {
            #expect(part.isNull && part.value == .null && part.count == 0)
        }
    }

    @Test("Elements and members come in the order of the text")
    func sequences() throws {
        let document = try JSON.Document(text: text)
        #expect(document["n"].elements.map(\.value) == (try JSON(text: text))["n"].array)
        #expect(document.members.map(\.key) == ["user", "n", "é", ""])
        #expect(document["n"].members.count == 0 && document.elements.count == 0)
        #expect(document["n"].elements.dropFirst().first { $0.double == 2.5 } != nil)
    }

    @Test("The last of duplicate keys counts, and refusing them is possible")
    func duplicates() throws {
        let text = #"{"a":1,"b":[2],"a":3,"\u0061":4,"c":5}"#
        let document = try JSON.Document(text: text)
        #expect(document["a"].int == 4 && document.count == 3)
        #expect(document.members.map(\.key) == ["b", "a", "c"])
        #expect { try JSON.Document(text: text, duplicateKeys: .refuse) } throws: {
            ($0 as? JSONError)?.reason == .duplicateKey
        }
        let many = "{" + (0..<100).map { "\"k\($0 % 90)\":\($0)" }.joined(separator: ",") + "}"
        let crowded = try JSON.Document(text: many)
        #expect(crowded.count == 90 && crowded["k5"].int == 95 && crowded["k50"].int == 50)
        #expect(try JSON.Decoder().decode([String: Int].self, from: Data(many.utf8))["k5"] == 95)
    }

    @Test("Every part can be decoded, with coding paths from that part on")
    func decoding() throws {
        let document = try JSON.Document(text: text)
        #expect(try document["user"].decode(User.self) == User(name: "Ada é", tags: ["x", "y"]))
        #expect(try document["user"]["tags"].decode([String].self) == ["x", "y"])
        #expect(try document["n"][1].decode(Double.self) == 2.5)
        #expect(try document["nobody"].decode(Int?.self) == nil)
        #expect { try document["n"].decode([Int].self) } throws: {
            JSONComparison.summary(of: $0) == "dataCorrupted at /Index 1"
        }
        #expect(try document["user"].decode(User.self) == document["user"].decode())
    }

    @Test("A string does not keep the document in memory, and neither does a number")
    func memory() throws {
        weak var kept: Marker?
        var parts: [JSON.Document] = []
        do {
            let marker = Marker()
            kept = marker
            let bytes = UnsafeMutableRawPointer.allocate(byteCount: 4_096, alignment: 8)
            let content = Array((#"{"a":"text","b":[1]}"# + String(repeating: " ", count: 4_076)).utf8)
            bytes.copyMemory(from: content, byteCount: 4_096)
            let data = Data(
                bytesNoCopy: bytes, count: 4_096,
                deallocator: .custom { bytes, _ in
                    withExtendedLifetime(marker) { bytes.deallocate() }
                })
            let document = try JSON.Document(data: data)
            parts = [document["a"], document["b"][0], document["missing"]]
        }
        #expect(kept == nil)
        #expect(parts[0].string == "text" && parts[1].int == 1 && parts[2].isNull)
    }

    private final class Marker: Sendable {}
}

@Suite("JSON.Decoder's own rules", .limited)
struct JSONDecoderRulesTests {
    struct Item: Decodable {
        var id: Int
        var name: String
    }

    private static let messages: [(text: String, message: String)] = [
        ("[{\"id\":1,\"name\":\"a\"},\n {\"id\":\"x\"}]", "expected Int but found a string at line 2, column 8"),
        ("[\r\n{\"id\":1}]", "no value for \"name\" in the object at line 2, column 1"),
        ("[\n\n  {\"id\":1,\"name\":null}]", "expected String but found null at line 3, column 18"),
        ("[{\"id\":1e30}]", "the number 1e30 does not fit in Int at line 1, column 8"),
        ("{}", "expected an array but found an object at line 1, column 1"),
        ("\u{FEFF}[1]", "expected an object but found a number at line 1, column 2"),
        ("[1,]", "it is not valid JSON, unexpected \"]\" at line 1, column 4: expected a value"),
    ]

    @Test("Errors contain the line and the column", arguments: messages)
    func positions(text: String, message: String) {
        #expect { try JSON.Decoder().decode([Item].self, from: Data(text.utf8)) } throws: { error in
            switch error as? DecodingError {
            case .dataCorrupted(let context), .keyNotFound(_, let context), .typeMismatch(_, let context),
                .valueNotFound(_, let context):
                context.debugDescription == message
            default: false
            }
        }
    }

    @Test("Errors of later and of earlier values have their own positions")
    func positionsInAnyOrder() throws {
        struct Probe: Decodable {
            var texts: [String] = []
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: DecodedTypes.FreeKey.self)
                for key in ["c", "a", "b", "a", "c"] {
                    do {
                        _ = try container.decode(Bool.self, forKey: DecodedTypes.FreeKey(key))
                    } catch DecodingError.typeMismatch(_, let context) {
                        texts.append(context.debugDescription.suffix(16) + context.codingPath[0].stringValue)
                    }
                }
            }
        }
        let probe = try JSON.Decoder().decode(Probe.self, from: Data("{\"a\":1,\n\"b\":2,\n\"c\":3}".utf8))
        let place = (a: "line 1, column 6a", b: "line 2, column 5b", c: "line 3, column 5c")
        #expect(probe.texts.map { String($0.suffix(17)) } == [place.c, place.a, place.b, place.a, place.c])
    }

    /// Keeps its decoder, as types do that decode a part later.
    struct Kept: Decodable {
        let decoder: any Decoder
        init(from decoder: any Decoder) throws { self.decoder = decoder }
    }

    @Test("A decoder can be used after its document has been decoded")
    func keptDecoder() throws {
        var data = Data("{\"k\": \(String(repeating: " ", count: 5_000))[\"long enough to need memory\", 2]}".utf8)
        let kept = try #require(JSON.Decoder().decode([String: Kept].self, from: data)["k"])
        data.resetBytes(in: 0..<data.count)
        data = Data()
        var container = try kept.decoder.unkeyedContainer()
        #expect(try container.decode(String.self) == "long enough to need memory")
        #expect(throws: DecodingError.self) { try container.decode(String.self) }
    }

    @Test("User info reaches the types")
    func userInfo() throws {
        struct Reader: Decodable {
            var value: Int?
            init(from decoder: any Decoder) throws {
                value = CodingUserInfoKey(rawValue: "n").flatMap { decoder.userInfo[$0] } as? Int
            }
        }
        let key = try #require(CodingUserInfoKey(rawValue: "n"))
        let decoder = JSON.Decoder { $0.userInfo[key] = 5 }
        #expect(try decoder.decode(Reader.self, from: Data("{}".utf8)).value == 5)
    }

    @Test("Random numbers are the nearest doubles and floats", arguments: 0..<4)
    func nearestNumbers(seed: UInt64) throws {
        var random = SeededRandom(seed: seed &+ 5)
        for _ in 0..<rounds(4_000, nightly: 100_000) {
            let text: String
            switch Int.random(in: 0..<4, using: &random) {
            case 0: text = "\(Double(bitPattern: random.next()))"
            case 1: text = "\(random.next())e\(Int.random(in: -340...300, using: &random))"
            case 2:
                text = "\(random.next()).\(random.next())\(random.next())e\(Int.random(in: -40...40, using: &random))"
            default:
                // Exactly halfway between two doubles, or next to that.
                let half = (1 << 53 + random.next() >> 11) * 2 + 1
                text = "\(half)\(["", ".0", "e0", ".000000000000000000001"].randomElement(using: &random) ?? "")"
            }
            guard let expected = Double(text), expected.isFinite else { continue }
            let data = Data(text.utf8)
            #expect(try JSON.Decoder().decode(Double.self, from: data).bitPattern == expected.bitPattern, "\(text)")
            if let float = Float(text), float.isFinite {
                #expect(try JSON.Decoder().decode(Float.self, from: data).bitPattern == float.bitPattern, "\(text)")
            }
        }
    }

    @Test("Damaged documents never trap, and decode if and only if they are JSON", arguments: 0..<4)
    func mutations(seed: UInt64) throws {
        var random = SeededRandom(seed: seed &+ 900)
        let sample = Array(
            #"{"a":[{"id":12,"name":"J\u00f6rg \ud83d\ude00"},{"id":-1.5e3,"name":null}],"é":true,"b":{"a":"x","a":1}} "#
                .utf8)
        for _ in 0..<rounds(1_000, nightly: 30_000) {
            var bytes = sample
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<max(bytes.count, 1), using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1 where place < bytes.count: bytes.remove(at: place)
                case 2: bytes.removeLast(bytes.count - place)
                default: bytes.insert(contentsOf: bytes.prefix(place), at: place)
                }
            }
            let data = Data(bytes)
            let value = try? JSON(data: data)
            #expect((try? JSON.Document(data: data))?.value == value)
            #expect((try? JSON.Decoder().decode(JSON.self, from: data)) == value)
            #expect(((try? JSON.Decoder().decode(DecodedTypes.Deep.self, from: data)) == nil) == (value == nil))
            _ = try? JSON.Decoder().decode([String: [Item]].self, from: data)
            if let value, let members = value.object {
                let decoded = try JSON.Decoder().decode([String: JSON].self, from: data)
                #expect(decoded == Dictionary(uniqueKeysWithValues: members.map { ($0.key, $0.value) }))
            }
        }
    }
}
