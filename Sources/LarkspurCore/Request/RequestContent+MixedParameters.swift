extension RequestContent {
    /// Returns JSON content of a literal of constants, nested in any way: `.json(["a": 1, "list": [1, "x"]])`.
    public static func json(_ value: JSON) -> RequestContent { .encoded(value, by: .json) }

    /// Returns JSON content of values of different types: `.json(["name": name, "age": age])`.
    @_disfavoredOverload
    public static func json(_ parameters: MixedParameters) -> RequestContent { .encoded(parameters, by: .json) }

    /// Returns `application/x-www-form-urlencoded` content of values of different types: `.form(["name": name, "age":
    /// age])`.
    @_disfavoredOverload
    public static func form(_ parameters: MixedParameters) -> RequestContent {
        .encoded(parameters, by: .urlEncodedForm(destination: .httpBody))
    }
}
