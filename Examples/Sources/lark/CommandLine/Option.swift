/// One row of the table of options.
struct Option {
    typealias Action = (inout Settings, String) throws -> Void

    enum Value: Equatable {
        case none
        case required(String)
        /// A value that is only written as `--name=value`.
        case optional(String)
    }

    /// The long name first: `--follow`, `-F`.
    let names: [String]
    let value: Value
    let topic: HelpTopic
    let help: String
    let action: Action

    init(_ names: String, _ value: Value = .none, _ topic: HelpTopic, _ help: String, _ action: @escaping Action) {
        self.names = names.split(separator: " ").map(String.init)
        self.value = value
        self.topic = topic
        self.help = help
        self.action = action
    }

    /// An option without a value, which sets a property.
    init<Property>(
        _ names: String, _ topic: HelpTopic, _ help: String, _ property: WritableKeyPath<Settings, Property>,
        _ value: Property
    ) {
        self.init(names, .none, topic, help) { settings, _ in settings[keyPath: property] = value }
    }

    /// An option whose value is stored as it is.
    init(
        _ names: String, _ placeholder: String, _ topic: HelpTopic, _ help: String,
        _ property: WritableKeyPath<Settings, String?>
    ) {
        self.init(names, .required(placeholder), topic, help) { settings, value in settings[keyPath: property] = value }
    }

    /// The names and the placeholder as the help shows them.
    var usage: String {
        let short = names.dropFirst().map { "\($0), " }.joined()
        return switch value {
        case .none: short + names[0]
        case .required(let placeholder): "\(short)\(names[0]) \(placeholder)"
        case .optional(let placeholder): "\(short)\(names[0])[=\(placeholder)]"
        }
    }

    static func number(_ text: String, of name: String, from minimum: Int = 0) throws -> Int {
        guard let number = Int(text), number >= minimum else {
            throw UsageError("\(name) needs a whole number from \(minimum) on, not “\(text)”")
        }
        return number
    }

    static func seconds(_ text: String, of name: String) throws -> Duration {
        guard let seconds = Double(text), seconds > 0, seconds < 1e9 else {
            throw UsageError("\(name) needs a number of seconds above 0, such as 2.5, not “\(text)”")
        }
        return .milliseconds(Int64((seconds * 1_000).rounded(.up)))
    }

    static func choice<Choice: RawRepresentable<String>>(
        _ text: String, of name: String, among choices: [Choice]
    ) throws -> Choice {
        guard let choice = Choice(rawValue: text) else {
            let names = choices.map(\.rawValue).joined(separator: ", ")
            throw UsageError("\(name) needs one of \(names), not “\(text)”")
        }
        return choice
    }
}
