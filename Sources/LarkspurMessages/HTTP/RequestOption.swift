/// A setting of single requests that a module adds to ``RequestOptions``.
///
///     struct TenantOption: RequestOption {
///         var name: String?
///     }
///
///     extension RequestOptions {
///         public var tenant: String? {
///             get { self[TenantOption.self].name }
///             set { self[TenantOption.self].name = newValue }
///         }
///     }
///
/// A request that does not set the option has that of its session's ``SessionConfiguration/options``. Interceptors,
/// middleware, participants and transports of your own read it from the request's options.
public protocol RequestOption: Hashable, Sendable {
    /// Creates the default value.
    init()
}

extension RequestOptions {
    /// The value of an option that a module adds.
    public subscript<Option: RequestOption>(_ type: Option.Type) -> Option {
        get { added[type] ?? Option() }
        set { added[type] = newValue }
    }
}

extension OutgoingRequest {
    /// The value of an option that a module adds or that the program attaches to the request.
    public subscript<Option: RequestOption>(_ type: Option.Type) -> Option {
        get { options[type] }
        set { options[type] = newValue }
    }
}

/// The options that modules add, by their types.
package struct AddedOptions: Hashable, Sendable {
    private var values: [ObjectIdentifier: any RequestOption] = [:]

    package init() {}

    package subscript<Option: RequestOption>(_ type: Option.Type) -> Option? {
        get { values[ObjectIdentifier(type)] as? Option }
        set { values[ObjectIdentifier(type)] = newValue }
    }

    package var isEmpty: Bool { values.isEmpty }

    package mutating func replace(with others: AddedOptions) { values.merge(others.values) { _, other in other } }

    mutating func addMissing(from others: AddedOptions) {
        if others.values.isEmpty { return }
        values.merge(others.values) { own, _ in own }
    }

    package static func == (lhs: AddedOptions, rhs: AddedOptions) -> Bool {
        lhs.values.count == rhs.values.count
            && lhs.values.allSatisfy { key, value in rhs.values[key].map { value.isEqual(to: $0) } ?? false }
    }

    package func hash(into hasher: inout Hasher) {
        // The sum does not depend on the order of the options.
        hasher.combine(values.values.reduce(0) { $0 &+ $1.hashValue })
    }
}

extension RequestOption {
    fileprivate func isEqual(to other: any RequestOption) -> Bool { other as? Self == self }
}
