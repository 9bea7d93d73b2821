/// The parts of the name of a field or member, in lower case.
///
/// `card[holderName2]` has the components `card` and `holder name2`. A component ends at `.`, `:`, `/` and brackets. A
/// word ends at every other separator, and before a capital that follows a small letter or a digit. If a small letter
/// follows several capitals, a new word starts with the last capital: `APIKey` is `api key`.
struct NameParts {
    private(set) var components: [[String]] = []

    var words: [String] { components.flatMap(\.self) }

    init(_ name: String) {
        let scalars = Array(name.unicodeScalars)
        var component: [String] = []
        var word = String.UnicodeScalarView()
        func endWord() {
            if !word.isEmpty { component.append(String(word).lowercased()) }
            word.removeAll()
        }
        for (index, scalar) in scalars.enumerated() {
            guard scalar.isOfWord else {
                endWord()
                if ".:/[]".unicodeScalars.contains(scalar), !component.isEmpty {
                    components.append(component)
                    component = []
                }
                continue
            }
            if let last = word.last, scalar.properties.isUppercase {
                let next = index + 1 < scalars.count ? scalars[index + 1] : nil
                if !last.properties.isUppercase || next?.properties.isLowercase == true { endWord() }
            }
            word.append(scalar)
        }
        endWord()
        if !component.isEmpty { components.append(component) }
    }
}

extension Unicode.Scalar {
    var isOfWord: Bool {
        if isASCII { return ("a"..."z").contains(self) || ("A"..."Z").contains(self) || ("0"..."9").contains(self) }
        return properties.isAlphabetic || properties.numericType != nil
    }
}
