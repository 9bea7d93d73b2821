import Foundation
import Larkspur

/// A value that is made up at run time: what its `encode(to:)` does with its encoder.
indirect enum JSONPlan: Encodable, Sendable {
    enum Step: Sendable {
        case value(String, JSONPlan)
        case null(String)
        /// A nested container that gets its members at once.
        case nested(String, [Step])
        /// A nested container that gets its members after the other steps.
        case later(String, [Step])
        case list(String, [JSONPlan])
        case superclass(String, JSONPlan)
        /// From here on the members are encoded with another container of the same encoder.
        case reopen
    }

    case bool(Bool), int(Int), small(Int8), unsigned(UInt64), double(Double), float(Float), string(String)
    case date(Date), data(Data), url(URL), decimal(Decimal), null, nothing
    case integers([Int]), strings([String]), doubles([Double]), numbers([String: Int])
    case optional(JSONPlan?)
    case array([JSONPlan])
    /// An array by way of the nested containers of an unkeyed container.
    case lists([[JSONPlan]])
    case object([Step])

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let steps):
            var container = encoder.container(keyedBy: DecodedTypes.FreeKey.self)
            try Self.encode(steps, into: &container) { encoder.container(keyedBy: DecodedTypes.FreeKey.self) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for (index, element) in elements.enumerated() {
                if index % 3 == 2 {
                    try element.encode(to: container.superEncoder())
                } else {
                    try container.encode(element)
                }
            }
        case .lists(let lists):
            var container = encoder.unkeyedContainer()
            for list in lists {
                var nested = container.nestedUnkeyedContainer()
                for element in list { try nested.encode(element) }
                var object = container.nestedContainer(keyedBy: DecodedTypes.FreeKey.self)
                try object.encode(container.count, forKey: .init("count"))
            }
        case .nothing: break
        default:
            var container = encoder.singleValueContainer()
            try encodeScalar(&container)
        }
    }

    private func encodeScalar(_ container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .small(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .float(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .url(let value): try container.encode(value)
        case .decimal(let value): try container.encode(value)
        case .integers(let value): try container.encode(value)
        case .strings(let value): try container.encode(value)
        case .doubles(let value): try container.encode(value)
        case .numbers(let value): try container.encode(value)
        case .optional(let value): try container.encode(value)
        default: try container.encodeNil()
        }
    }

    private static func encode(
        _ steps: [Step], into container: inout KeyedEncodingContainer<DecodedTypes.FreeKey>,
        _ reopened: () -> KeyedEncodingContainer<DecodedTypes.FreeKey>
    ) throws {
        var later: [(KeyedEncodingContainer<DecodedTypes.FreeKey>, [Step])] = []
        for step in steps {
            switch step {
            case .value(let name, let plan): try encode(plan, .init(name), &container)
            case .null(let name): try container.encodeNil(forKey: .init(name))
            case .nested(let name, let steps):
                var nested = container.nestedContainer(keyedBy: DecodedTypes.FreeKey.self, forKey: .init(name))
                let copy = nested
                try encode(steps, into: &nested) { copy }
            case .later(let name, let steps):
                let nested = container.nestedContainer(keyedBy: DecodedTypes.FreeKey.self, forKey: .init(name))
                later.append((nested, steps))
            case .list(let name, let plans):
                var list = container.nestedUnkeyedContainer(forKey: .init(name))
                for plan in plans { try list.encode(plan) }
            case .superclass(let name, let plan): try plan.encode(to: container.superEncoder(forKey: .init(name)))
            case .reopen: container = reopened()
            }
        }
        for (nested, steps) in later {
            var container = nested
            try encode(steps, into: &container) { nested }
        }
    }

    /// Encodes scalars as what they are, so that the functions of a keyed container for single types are called.
    private static func encode(
        _ plan: JSONPlan, _ key: DecodedTypes.FreeKey,
        _ container: inout KeyedEncodingContainer<DecodedTypes.FreeKey>
    ) throws {
        switch plan {
        case .bool(let value): try container.encode(value, forKey: key)
        case .int(let value): try container.encode(value, forKey: key)
        case .small(let value): try container.encode(value, forKey: key)
        case .unsigned(let value): try container.encode(value, forKey: key)
        case .double(let value): try container.encode(value, forKey: key)
        case .float(let value): try container.encode(value, forKey: key)
        case .string(let value): try container.encode(value, forKey: key)
        case .strings(let value): try container.encode(value, forKey: key)
        default: try container.encode(plan, forKey: key)
        }
    }
}

/// Random plans.
struct JSONPlanGrammar {
    var random: SeededRandom
    private static let names = ["a", "b", "c", "aB", "id", "longer key", "e\u{301}", "\"q\"", "", "z/y", "aé", "myURL"]

    mutating func plan(depth: Int = 3) -> JSONPlan {
        switch Int.random(in: 0..<(depth > 0 ? 26 : 17), using: &random) {
        case 0: return .bool(random.once(in: 2))
        case 1: return .int(Int.random(in: -1_000...1_000, using: &random))
        case 2: return .int(random.once(in: 2) ? .min : .max)
        case 3: return .small(Int8.random(in: .min ... .max, using: &random))
        case 4: return .unsigned(UInt64.random(in: 0 ... .max, using: &random))
        case 5, 6: return .double(double())
        case 7: return .float(Float(double()))
        case 8, 9: return .string(string())
        case 10:
            return .date(Date(timeIntervalSinceReferenceDate: Double(Int.random(in: 0...9_999_999, using: &random))))
        case 11: return .data(Data(string().utf8))
        case 12: return .url(URL(fileURLWithPath: "/a/b"))
        case 13: return random.once(in: 3) ? .nothing : .null
        case 14: return .decimal(Decimal(Int.random(in: 0...99_999, using: &random)) / 100)
        case 15: return .integers((0..<3).map { _ in Int.random(in: 0...99, using: &random) })
        case 16: return .strings((0..<2).map { _ in string() })
        case 17: return .doubles((0..<2).map { _ in double() })
        case 18: return .numbers(["x": 1, "yZ": 2, string(): 3])
        case 19: return .optional(random.once(in: 3) ? nil : plan(depth: depth - 1))
        case 20: return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in plan(depth: depth - 1) })
        case 21: return .lists((0..<2).map { _ in (0..<2).map { _ in plan(depth: depth - 1) } })
        default: return .object(steps(depth: depth))
        }
    }

    private mutating func steps(depth: Int) -> [JSONPlan.Step] {
        var steps: [JSONPlan.Step] = []
        var names = Self.names.shuffled(using: &random)
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            // Foundation traps if a nested container continues a value of another type, so only values of a key are
            // replaced, and only containers are continued.
            guard let name = names.popLast() else { break }
            switch Int.random(in: 0..<12, using: &random) {
            case 0...4: steps.append(.value(name, plan(depth: depth - 1)))
            case 5:
                steps.append(.null(name))
                if random.once(in: 2) { steps.append(.value(name, plan(depth: depth - 1))) }
            case 6:
                steps.append(.value(name, plan(depth: depth - 1)))
                steps.append(.value(name, plan(depth: depth - 1)))
            case 7: steps.append(random.once(in: 2) ? .reopen : .superclass(name, plan(depth: depth - 1)))
            case 8: steps.append(.list(name, (0..<2).map { _ in plan(depth: depth - 1) }))
            case 9: steps.append(.later(name, self.steps(depth: max(depth - 1, 0))))
            case 10:
                // The value is an object that the nested container continues.
                steps.append(.value(name, .object([.value("a", .int(1)), .value("b", .string(string()))])))
                steps.append(.nested(name, [.value("b", .bool(true)), .value("c", .null)]))
            default:
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    steps.append(.nested(name, [.value(string(), plan(depth: 0)), .value("a", plan(depth: 0))]))
                }
            }
        }
        return steps
    }

    private mutating func double() -> Double {
        if random.once(in: 60) { return [.nan, .infinity, -.infinity].randomElement(using: &random) ?? 0 }
        let small = Double(Int.random(in: -9_999...9_999, using: &random)) / 64
        return [small, small, 0, -0.0, 1e16, 1e-7, 1e-300, small * 1e30].randomElement(using: &random) ?? 0
    }

    private mutating func string() -> String {
        let texts = [
            "", "a", "é", "e\u{301}", "a/b", "\u{1}\n\"\\", "eight by",
            "a string of more than sixteen bytes / \" \u{7F}",
            "😀\u{2028}", "seven b\"",
        ]
        return texts.randomElement(using: &random) ?? ""
    }
}
