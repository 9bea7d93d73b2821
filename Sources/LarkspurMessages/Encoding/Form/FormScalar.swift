/// A type whose values are written directly into the form, without a call of `encode(to:)`.
///
/// All basic types of Codable must conform. Their `encode(to:)` passes the same value back to the encoder, so a call of
/// `encode(to:)` would recurse without end.
protocol FormScalar {
    /// Returns the value to write into the form; nil if the caller must call `encode(to:)`.
    func formValue(_ options: URLEncodedFormEncoder) throws -> FormNode.Value?
}

extension FormScalar where Self: CustomStringConvertible {
    func formValue(_ options: URLEncodedFormEncoder) -> FormNode.Value? { .text(description) }
}

extension String: FormScalar {}
extension Int: FormScalar {}
extension Int8: FormScalar {}
extension Int16: FormScalar {}
extension Int32: FormScalar {}
extension Int64: FormScalar {}
extension UInt: FormScalar {}
extension UInt8: FormScalar {}
extension UInt16: FormScalar {}
extension UInt32: FormScalar {}
extension UInt64: FormScalar {}
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension Int128: FormScalar {}
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension UInt128: FormScalar {}

extension URL: FormScalar {
    func formValue(_ options: URLEncodedFormEncoder) -> FormNode.Value? { .text(absoluteString) }
}

extension Bool: FormScalar {
    func formValue(_ options: URLEncodedFormEncoder) -> FormNode.Value? {
        switch options.boolEncoding {
        case .numeric: .text(self ? "1" : "0")
        case .literal: .text(self ? "true" : "false")
        }
    }
}

/// Returns the text of a number. Throws for NaN and infinity, for which services have no common notation.
private func text<Number: CustomStringConvertible>(_ number: Number, isNumber: Bool) throws -> FormNode.Value? {
    guard isNumber else { throw unwritable(number, "a form cannot hold the number \(number); encode a text") }
    return .text(number.description)
}

private func unwritable(_ value: Any, _ reason: String) -> EncodingError {
    EncodingError.invalidValue(value, EncodingError.Context(codingPath: [], debugDescription: reason))
}

extension Double: FormScalar {
    func formValue(_ options: URLEncodedFormEncoder) throws -> FormNode.Value? { try text(self, isNumber: isFinite) }
}

extension Float: FormScalar {
    func formValue(_ options: URLEncodedFormEncoder) throws -> FormNode.Value? { try text(self, isNumber: isFinite) }
}

extension Decimal: FormScalar {
    func formValue(_ options: URLEncodedFormEncoder) throws -> FormNode.Value? { try text(self, isNumber: !isNaN) }
}

extension Data: FormScalar {
    func formValue(_ options: URLEncodedFormEncoder) throws -> FormNode.Value? {
        switch options.dataEncoding {
        case .base64: .text(base64EncodedString())
        case .deferredToData: nil
        case .custom(let encode): .text(try encode(self))
        }
    }
}

extension Date: FormScalar {
    /// The years 1583 to 9999, as seconds since 1970. ISO 8601 does not define the calendar of earlier dates, and later
    /// years have five digits.
    private static let years = -12_212_553_600.0..<253_402_300_800

    func formValue(_ options: URLEncodedFormEncoder) throws -> FormNode.Value? {
        switch options.dateEncoding {
        case .deferredToDate: return nil
        case .secondsSince1970: return try Self.count(timeIntervalSince1970)
        case .millisecondsSince1970: return try Self.count((timeIntervalSince1970 * 1000).rounded())
        case .iso8601:
            guard Self.years.contains(timeIntervalSince1970) else {
                // The error contains the number of seconds and not the date, because Foundation cannot print every
                // date.
                throw unwritable(timeIntervalSince1970, "ISO 8601 supports dates of the years 1583 to 9999")
            }
            return .text(ISO8601Format())
        case .custom(let encode): return .text(try encode(self))
        }
    }

    private static func count(_ units: Double) throws -> FormNode.Value? {
        if let whole = Int64(exactly: units) { return .text(whole.description) }
        return try text(units, isNumber: units.isFinite)
    }
}

extension JSON: FormScalar {
    func formValue(_ options: URLEncodedFormEncoder) -> FormNode.Value? {
        switch self {
        case .null: options.nilEncoding.value
        case .bool(let value): value.formValue(options)
        case .number(let number): .text(number.description)
        case .string(let text): .text(text)
        case .array, .object: nil
        }
    }
}

extension FormNode: LosslessJSONEncoder {
    /// Encodes a JSON value without Codable, because Codable does not support all JSON numbers and does not keep the
    /// order of members.
    func encode(_ json: JSON) throws {
        switch json {
        case .array(let elements):
            var container = unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .object(let members):
            var container = container(keyedBy: FormKey.self)
            for (key, value) in members { try container.encode(value, forKey: FormKey(stringValue: key)) }
        default:
            if let value = json.formValue(form.options) { write(value) }
        }
    }
}
