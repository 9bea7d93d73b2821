/// Values of Foundation's classes that have a form in JSON. Without Foundation, no value is of these classes.
enum FoundationValue {
    #if Foundation || canImport(Darwin)
        static func isNumber(_ value: Any) -> Bool { type(of: value) is NSNumber.Type }
        static func isNull(_ value: Any) -> Bool { value is NSNull }

        /// The text of an `NSString`; nil for other values.
        static func text(of value: Any) -> String? { (value as? NSString).map { "\($0)" } }
        /// The elements of an `NSArray`; nil for other values.
        static func elements(of value: Any) -> [Any]? { (value as? NSArray).map { list in list.map { $0 } } }
        /// The members of an `NSDictionary`; nil for other values.
        static func members(of value: Any) -> [AnyHashable: Any]? {
            guard let members = value as? NSDictionary else { return nil }
            var result: [AnyHashable: Any] = [:]
            for (key, member) in members {
                let name = (key as? NSString).map { "\($0)" as AnyHashable } ?? key as? AnyHashable
                if let name { result[name] = member }
            }
            return result
        }

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
        static func text(of value: Any) -> String? { nil }
        static func elements(of value: Any) -> [Any]? { nil }
        static func members(of value: Any) -> [AnyHashable: Any]? { nil }
        static func json(ofNumber number: Any) -> JSON? { nil }
    #endif
}
