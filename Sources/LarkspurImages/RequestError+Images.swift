import Larkspur

extension RequestError.Code {
    /// The image has more pixels than the limit allows, or than the memory that is left. With the limit, it is refused
    /// before memory is allocated for it.
    public static let imageTooLarge = RequestError.Code(rawValue: "imageTooLarge")
    /// The system library that decodes images of this format is missing. The message names the package to install.
    public static let imageLibraryMissing = RequestError.Code(rawValue: "imageLibraryMissing")
    /// The format is recognised, but cannot be decoded on this platform.
    public static let unsupportedImageFormat = RequestError.Code(rawValue: "unsupportedImageFormat")
}
