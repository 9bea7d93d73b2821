#if canImport(UIKit)
    import UIKit

    /// The platform's type of images.
    public typealias PlatformImage = UIImage
#elseif canImport(AppKit)
    import AppKit

    /// The platform's type of images.
    public typealias PlatformImage = NSImage
#endif

#if canImport(UIKit) || canImport(AppKit)
    /// The body as an image. An empty body is a failure: no image is empty.
    ///
    ///     let photo = try await request.serializingResponse(using: .image(scale: 2)).value
    public struct ImageResponseSerializer: ResponseSerializer {
        /// The content types that images come with.
        public static let contentTypes: Set<String> = [
            "image/avif", "image/bmp", "image/gif", "image/heic", "image/heif", "image/jpeg", "image/png",
            "image/tiff", "image/vnd.microsoft.icon", "image/webp", "image/x-icon",
        ]

        private let imageScale: CGFloat
        private let validator: ResponseValidator

        /// - Parameters:
        ///   - imageScale: How many pixels of the image make a point.
        ///   - contentTypes: What the response may be; ranges such as `image/*` count.
        public init(imageScale: CGFloat = 1, contentTypes: Set<String> = ImageResponseSerializer.contentTypes) {
            self.imageScale = imageScale
            validator = .contentType(contentTypes)
        }

        public func serialize(_ exchange: CompletedExchange) async throws -> PlatformImage {
            guard let data = exchange.data, !data.isEmpty else {
                throw RequestError(.emptyBody, "the response has no body to make an image of")
            }
            try await validator.validate(exchange)
            guard let image = Self.image(data, scale: imageScale) else {
                throw RequestError(.invalidImage, "the body is no image that this system can read")
            }
            return image
        }

        #if canImport(UIKit)
            private static func image(_ data: Data, scale: CGFloat) -> PlatformImage? {
                UIImage(data: data, scale: scale)
            }
        #else
            /// AppKit counts in points, so a scale makes the image smaller.
            private static func image(_ data: Data, scale: CGFloat) -> PlatformImage? {
                guard let bitmap = NSBitmapImageRep(data: data) else { return nil }
                let size = NSSize(
                    width: CGFloat(bitmap.pixelsWide) / scale, height: CGFloat(bitmap.pixelsHigh) / scale)
                let image = NSImage(size: size)
                bitmap.size = size
                image.addRepresentation(bitmap)
                return image
            }
        #endif
    }

    extension ResponseSerializer where Self == ImageResponseSerializer {
        /// The body as an image.
        public static var image: Self { ImageResponseSerializer() }
        /// The body as an image, with so many pixels to a point.
        public static func image(scale: CGFloat) -> Self { ImageResponseSerializer(imageScale: scale) }
    }
#endif
