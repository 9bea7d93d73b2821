/// The settings of a session for the serializers of JSON and of `Decodable` values.
///
///     let session = Session(configuration: .validated {
///         $0.serializers.preprocessor = .removingNulls
///         $0.serializers.emptyResponseCodes.insert(200)
///         $0.serializers.acceptableContentTypes = ["application/json", "text/json"]
///     })
///
/// They apply to `serializingJSON`, `serializingDecodable`, `send(_:)` and the other functions of a request that do not
/// name a setting of their own. A serializer that you create and pass with `using:` has its own settings. The decoder
/// is ``SessionConfiguration/decoder``.
public struct SerializerDefaults: ParticipantSettings {
    /// The preprocessor of the body; by default the body is not changed.
    public var preprocessor: any DataPreprocessor = .passthrough
    /// The statuses that allow an empty body; 204 and 205 by default.
    public var emptyResponseCodes = Set<Int>.emptyResponseCodes
    /// The methods that allow an empty body; HEAD by default.
    public var emptyRequestMethods = Set<HTTPMethod>.emptyRequestMethods
    /// The content types of bodies that are serialized, such as `application/json` or `text/*`. Other types fail with
    /// `.unacceptableContentType`, also if no validator checks the type. Nil, the default, accepts every type.
    public var acceptableContentTypes: [String]?

    /// Creates the settings of a session that changes none of them.
    public init() {}

    /// The place among participants, which has no effect: the settings have no participant.
    public static let place = 0

    /// Returns nil: the settings are read by serializers, not by hops.
    public func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        nil
    }

    /// Returns the input of a serializer: its own settings, and these for settings that it does not name.
    package func body(
        _ preprocessor: (any DataPreprocessor)?, _ codes: Set<Int>?, _ methods: Set<HTTPMethod>?
    ) -> ResponseBody {
        var body = ResponseBody(
            preprocessor: preprocessor ?? self.preprocessor, emptyResponseCodes: codes ?? emptyResponseCodes,
            emptyRequestMethods: methods ?? emptyRequestMethods)
        if let acceptableContentTypes {
            let validator = ResponseValidator.contentType(acceptableContentTypes)
            body.check = { _ = try validator.checkAtOnce($0) }
        }
        return body
    }
}

extension SessionConfiguration {
    /// The settings for the serializers of JSON and of `Decodable` values, as far as a request does not name its own.
    public var serializers: SerializerDefaults {
        get { self[SerializerDefaults.self] }
        set { self[SerializerDefaults.self] = newValue }
    }
}
