extension URLEncodedFormEncoder {
    /// A format for the keys of an array's elements.
    public enum ArrayEncoding: Sendable {
        /// `key[]=1&key[]=2`
        case brackets
        /// `key=1&key=2`
        case noBrackets
        /// `key[0]=1&key[1]=2`
        case indexInBrackets
        /// The result of a closure, which gets the key of the array and the index of the element.
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

    /// A format for nested keys.
    public enum KeyPathEncoding: Sendable {
        /// `parent[child][grandchild]`
        case brackets
        /// `parent.child.grandchild`
        case dots
        /// The parent's key followed by the result of a closure, which gets the child's key.
        case custom(@Sendable (_ child: String) -> String)

        func path(_ parent: String, _ child: String) -> String {
            switch self {
            case .brackets: parent + "[" + child + "]"
            case .dots: parent + "." + child
            case .custom(let encode): parent + encode(child)
            }
        }
    }

    /// A format for single keys. The encoder applies the format to each key, also to the keys of dictionaries, before
    /// it joins nested keys.
    public enum KeyEncoding: Sendable {
        /// The coding keys, unchanged.
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
        /// The result of a closure.
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

        /// Splits a key into words, and joins the words in lower case with the separator. A word begins at a capital
        /// letter that follows a small letter or a digit. If several capitals precede a small letter, the last of them
        /// begins a word: `my|URL|Path`.
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
