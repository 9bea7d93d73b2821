import Foundation

/// A value that is encoded by a closure.
struct EncodedByClosure: Encodable {
    private let body: (any Encoder) throws -> Void

    init(_ body: @escaping (any Encoder) throws -> Void) { self.body = body }

    func encode(to encoder: any Encoder) throws { try body(encoder) }
}

/// Returns the encoded text, or the kind and the path of the error.
func encodingOutcome(_ encode: () throws -> Data) -> String {
    do {
        return String(decoding: try encode(), as: UTF8.self)
    } catch EncodingError.invalidValue(_, let context) {
        return "invalid at " + context.codingPath.map { "/" + $0.stringValue }.joined()
    } catch {
        return "\(error)"
    }
}
