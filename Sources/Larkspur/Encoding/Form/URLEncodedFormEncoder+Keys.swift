extension URLEncodedFormEncoder {
    /// The keys of an array's elements.
    public enum ArrayEncoding: Sendable {
        /// `key[]=1&key[]=2`
        case brackets
        /// `key=1&key=2`
        case noBrackets
        /// `key[0]=1&key[1]=2`
        case indexInBrackets
        /// The key of an element, from the key of the array and the element's index.
        case custom(@Sendable (_ key: String, _ index: Int) -> String)

        func key(_ key: String, _ index: Int) -> String {
            switch self {
            case .brackets: key + "[]"
            case .noBrackets: key
            case .indexInBrackets: key + "[" + String(index) + "]"
            case .custom(let encode): encode(key, index)
            }
        }
    }

    /// How a key inside another one is joined to it.
    public enum KeyPathEncoding: Sendable {
        /// `parent[child][grandchild]`
        case brackets
        /// `parent.child.grandchild`
        case dots
        /// What to append to the parent's key for that child's.
        case custom(@Sendable (_ child: String) -> String)

        func path(_ parent: String, _ child: String) -> String {
            switch self {
            case .brackets: parent + "[" + child + "]"
            case .dots: parent + "." + child
            case .custom(let encode): parent + encode(child)
            }
        }
    }

    /// How each key is spelled, before it is joined to those around it; dictionaries' keys are keys like all others.
    public enum KeyEncoding: Sendable {
        /// As the coding keys have it.
        case useDefaultKeys
        /// `oneTwoThree` as `one_two_three`, `userID` as `user_id`, `isHTTPSOnly` as `is_https_only`
        case convertToSnakeCase
        /// `oneTwoThree` as `one-two-three`
        case convertToKebabCase
        /// `oneTwoThree` as `OneTwoThree`: only the first letter changes.
        case capitalized
        /// `oneTwoThree` as `ONETWOTHREE`
        case uppercased
        /// `oneTwoThree` as `onetwothree`
        case lowercased
        /// As a closure has it.
        case custom(@Sendable (_ key: String) -> String)

        func encode(_ key: String) -> String {
            switch self {
            case .useDefaultKeys: key
            case .convertToSnakeCase: Self.words(of: key, separator: "_")
            case .convertToKebabCase: Self.words(of: key, separator: "-")
            case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
            case .uppercased: key.uppercased()
            case .lowercased: key.lowercased()
            case .custom(let encode): encode(key)
            }
        }

        /// A word begins at a capital after anything else than a capital, and at the last one of several in a row if a
        /// small letter follows: `my|URL|Path`.
        private static func words(of key: String, separator: Character) -> String {
            var result = ""
            var previous: Character?
            for index in key.indices {
                let character = key[index]
                if character.isUppercase, let previous, previous.isLetter || previous.isNumber {
                    let next = key.index(after: index)
                    let isLastCapital = next < key.endIndex && key[next].isLowercase
                    if !previous.isUppercase || isLastCapital { result.append(separator) }
                }
                result += character.lowercased()
                previous = character
            }
            return result
        }
    }
}
