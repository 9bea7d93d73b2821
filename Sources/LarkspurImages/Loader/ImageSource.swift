import Larkspur

/// A URL of an image, with what is special about its request. It takes the place of a URL in all functions of loaders
/// and views.
///
///     let avatar = ImageSource(url, headers: ["Authorization": "Bearer \(token)"], identifier: user.id)
///     imageView.setImage(from: avatar)
///
/// Sources with the same URL and the same identifier are the same image: they share one request, whose header fields
/// are those of the first source, and the image in memory. If other header fields mean another image, give the sources
/// other identifiers.
public struct ImageSource: URLConvertible {
    /// The URL.
    public let url: any URLConvertible
    /// The header fields of the request. They replace equal ones of the loader's options.
    public var headers: HTTPHeaders
    /// Distinguishes images with the same URL, for example those of several users; empty by default.
    public var identifier: String
    /// Changes the request before it starts, after the closure of the loader's options.
    public var configure: @Sendable (DataRequest) -> Void

    /// Creates a source.
    public init(
        _ url: any URLConvertible, headers: HTTPHeaders = [:], identifier: String = "",
        configure: @escaping @Sendable (DataRequest) -> Void = { _ in }
    ) {
        (self.url, self.headers, self.identifier, self.configure) = (url, headers, identifier, configure)
    }

    public func asRequestURL() throws -> RequestURL { try url.asRequestURL() }

    public func asRequestURL(relativeTo base: RequestURL) throws -> RequestURL {
        try url.asRequestURL(relativeTo: base)
    }
}
