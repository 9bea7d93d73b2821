import Larkspur

@testable import LarkspurCore

/// Checks that a parsed value can be written, and that parsing the result gives the same value.
func checkJSON(_ bytes: [UInt8]) throws {
    let data = Data(bytes)
    let value: JSON
    do throws(JSONError) {
        value = try JSON(data: data)
    } catch {
        try require((try? JSON.Document(data: data)) == nil, "a document accepts the same texts")
        try require((try? JSON.Decoder().decode(JSON.self, from: data)) == nil, "a decoder accepts the same texts")
        try require((0...bytes.count).contains(error.offset), "a fault is in the text")
        try require(error.line >= 1 && error.column >= 1, "lines and columns count from 1")
        try require((try? JSON(data: data, duplicateKeys: .refuse)) == nil, "the strict policy takes no more")
        return
    }
    if let strict = try? JSON(data: data, duplicateKeys: .refuse) {
        try require(strict == value, "the policies differ in duplicates alone")
    }
    for options in [[], .sortedKeys, [.sortedKeys, .prettyPrinted]] as [JSON.WritingOptions] {
        let written = value.data(options)
        let again = try JSON(data: written, duplicateKeys: .refuse)
        try require(again == value && again.hashValue == value.hashValue, "what is written reads the same")
        try require(again.data(options) == written, "what is read is written the same")
    }
    try checkNumbers(value)
    try checkReaders(data, value)
    _ = value.removingNulls()
}

/// Checks that a document and a decoder read the same values, and that decoding never traps.
private func checkReaders(_ data: Data, _ value: JSON) throws {
    try require(try JSON.Document(data: data).value == value, "a document has the same value")
    try require(try JSON.Decoder().decode(JSON.self, from: data) == value, "a decoder has the same value")
    if let object = value.object {
        let members = try JSON.Decoder().decode([String: JSON].self, from: data)
        try require(members.count == object.count, "a decoder has the same members")
        let document = try JSON.Document(data: data)
        for (key, member) in object {
            try require(members[key] == member && document[key].value == member, "each member is found by its key")
        }
    }
    for decoder in [JSON.Decoder(), JSON.Decoder { $0.keyDecodingStrategy = .convertFromSnakeCase }] {
        _ = try? decoder.decode([String: [Double]].self, from: data)
        _ = try? decoder.decode([[String: Tree]].self, from: data)
        _ = try? decoder.decode(Tree.self, from: data)
    }
}

/// A type that reads any value, and the paths of the errors on the way.
private struct Tree: Decodable {
    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        do { _ = try value.decode(UInt8.self) } catch { _ = "\(error)" }
        do { _ = try value.decode(Float.self) } catch { _ = "\(error)" }
        do { _ = try value.decode(Decimal.self) } catch { _ = "\(error)" }
        if var elements = try? decoder.unkeyedContainer() {
            while !elements.isAtEnd { _ = try elements.decode(Tree.self) }
        } else if value.decodeNil() == false, (try? value.decode(String.self)) == nil,
            (try? value.decode(Bool.self)) == nil, (try? value.decode(Double.self)) == nil
        {
            _ = try? value.decode([String: Tree].self)
        }
    }
}

/// Checks that all conversions of a number agree.
private func checkNumbers(_ value: JSON) throws {
    switch value {
    case .null, .bool, .string: break
    case .array(let elements): for element in elements { try checkNumbers(element) }
    case .object(let members): for (_, member) in members { try checkNumbers(member) }
    case .number(let number):
        guard let integer = number.integer(as: Int64.self) else { return }
        try require(number.double == Double(integer) && JSON(integer) == value, "an integer is the number's value")
        try require(number.integer(as: UInt64.self) == UInt64(exactly: integer), "integers of all types agree")
    }
}
