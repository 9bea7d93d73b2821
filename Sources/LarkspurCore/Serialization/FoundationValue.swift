/// Values of Foundation's classes that have a form in JSON. Without Foundation, no value is of these classes.
enum FoundationValue {
    #if Foundation || canImport(Darwin)
        static func isNumber(_ value: Any) -> Bool { type(of: value) is NSNumber.Type }
        static func isNull(_ value: Any) -> Bool { value is NSNull }

        /// Returns the value of an `NSNumber`; nil if JSON cannot represent it. Foundation writes the number as JSON,
        /// and the parser reads that text. Only Foundation can tell on every platform whether an `NSNumber` is a
        /// Boolean.
        static func json(ofNumber number: Any) -> JSON? {
            guard JSONSerialization.isValidJSONObject([number]),
                let data = try? JSONSerialization.data(withJSONObject: [number]), let list = try? JSON(data: data)
            else { return nil }
            return list[0]
        }
    #else
        static func isNumber(_ value: Any) -> Bool { false }
        static func isNull(_ value: Any) -> Bool { false }
        static func json(ofNumber number: Any) -> JSON? { nil }
    #endif
}
