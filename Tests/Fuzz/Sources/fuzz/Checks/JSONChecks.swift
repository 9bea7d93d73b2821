@testable import Larkspur

/// Checks that a parsed value can be written, and that parsing the result gives the same value.
func checkJSON(_ bytes: [UInt8]) throws {
    let data = Data(bytes)
    let value: JSON
    do throws(JSONError) {
        value = try JSON(data: data)
    } catch {
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
    _ = value.removingNulls()
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
