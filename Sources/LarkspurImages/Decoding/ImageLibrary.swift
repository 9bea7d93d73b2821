import CLarkspurImages
import Larkspur

/// A library of the system that decodes images. It is found at run time.
struct ImageLibrary: Sendable {
    let name: String
    /// The package of Debian, and that of Ubuntu if it has another name.
    let packages: String
    let isFound: @Sendable () -> Bool
    let decode: @Sendable (UnsafeMutablePointer<clarkspur_image_decoding>) -> clarkspur_image_outcome

    static let png = ImageLibrary(
        name: "libpng16.so.16", packages: "libpng16-16", isFound: { clarkspur_png_is_found() }
    ) {
        clarkspur_png_decode($0)
    }
    static let jpeg = ImageLibrary(
        name: "libturbojpeg.so.0", packages: "libturbojpeg0, or libturbojpeg on Ubuntu",
        isFound: { clarkspur_jpeg_is_found() }
    ) { clarkspur_jpeg_decode($0) }
    static let webp = ImageLibrary(name: "libwebp.so.7", packages: "libwebp7", isFound: { clarkspur_webp_is_found() }) {
        clarkspur_webp_decode($0)
    }

    func error(_ outcome: clarkspur_image_outcome, problem: String) -> RequestError {
        switch outcome {
        case clarkspur_image_missing:
            RequestError(
                .imageLibraryMissing,
                "\(name) was not found, or lacks a function; on Debian and Ubuntu it is in the package \(packages)")
        case clarkspur_image_out_of_memory: RequestError(.imageTooLarge, "no memory was left for the image")
        default: RequestError(.invalidImage, "the image is damaged: \(problem)")
        }
    }

    /// Decodes an image whose header was read and checked.
    func pixels(of data: Data, _ header: ImageHeader, at size: PixelSize) throws(RequestError) -> PixelBuffer {
        try run(data, header, size, isPreview: false).get()
    }

    /// Decodes the part of an image that has arrived. Returns nil if that has no pixels yet.
    func preview(of data: Data, _ header: ImageHeader, at size: PixelSize) throws(RequestError) -> PixelBuffer? {
        let result = run(data, header, size, isPreview: true)
        if case .failure(let error) = result, error.code == .invalidImage { return nil }
        return try result.get()
    }

    private func run(
        _ data: Data, _ header: ImageHeader, _ size: PixelSize, isPreview: Bool
    ) -> Result<PixelBuffer, RequestError> {
        // Before memory is allocated.
        guard isFound() else { return .failure(error(clarkspur_image_missing, problem: "")) }
        var decoding = clarkspur_image_decoding()
        decoding.source_width = UInt32(header.size.width)
        decoding.source_height = UInt32(header.size.height)
        decoding.width = UInt32(size.width)
        decoding.height = UInt32(size.height)
        decoding.is_preview = isPreview
        var pixels = [UInt8](repeating: 0, count: size.width * size.height * 4)
        let outcome = data.withUnsafeBytes { bytes in
            pixels.withUnsafeMutableBufferPointer { target in
                decoding.bytes = bytes.bindMemory(to: UInt8.self).baseAddress
                decoding.count = bytes.count
                decoding.pixels = target.baseAddress
                return decode(&decoding)
            }
        }
        guard outcome == clarkspur_image_complete, let buffer = PixelBuffer(size: size, bytes: pixels) else {
            return .failure(error(outcome, problem: problemText(&decoding.problem)))
        }
        return .success(buffer)
    }
}

/// Returns the text of a C array that ends with a NUL.
func problemText<Text>(_ text: inout Text) -> String {
    withUnsafeBytes(of: &text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
