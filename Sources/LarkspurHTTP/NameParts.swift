/// The parts of the name of a field or member, in lower case.
///
/// `card[holderName2]` has the components `card` and `holder name2`. Components end at `.`, `:`, `/` and brackets.
/// Words end at every other separator and where a capital follows a small letter or a digit. They also end before the
/// last capital of a run that a small letter follows: `APIKey` is `api key`.
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
    var isOfWord: Bool { properties.isAlphabetic || properties.numericType != nil }
}
