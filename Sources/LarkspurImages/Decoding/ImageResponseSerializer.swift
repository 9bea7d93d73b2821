import Larkspur

#if canImport(UIKit)
    import UIKit

    /// The image type of the platform.
    public typealias PlatformImage = UIImage
#elseif canImport(AppKit)
    import AppKit

    /// The image type of the platform.
    public typealias PlatformImage = NSImage
#endif

#if canImport(UIKit) || canImport(AppKit)
    /// A serializer that returns the body as an image. An empty body fails with `.emptyBody`.
    ///
    /// AppKit's images can be passed between threads from macOS 14 on.
    ///
    ///     let photo = try await request.serializingResponse(using: .image(scale: 2)).value
    @available(macOS 14.0, *)
    public struct ImageResponseSerializer: ResponseSerializer {
        /// The content types that are accepted by default.
        public static let contentTypes: Set<String> = [
            "image/avif", "image/bmp", "image/gif", "image/heic", "image/heif", "image/jpeg", "image/png",
            "image/tiff", "image/vnd.microsoft.icon", "image/webp", "image/x-icon",
        ]

        private let imageScale: CGFloat
        private let validator: ResponseValidator

        /// Creates a serializer.
        ///
        /// - Parameters:
        ///   - imageScale: The number of pixels per point; 1 by default.
        ///   - contentTypes: The accepted content types; ranges such as `image/*` are possible.
        public init(imageScale: CGFloat = 1, contentTypes: Set<String> = ImageResponseSerializer.contentTypes) {
            self.imageScale = imageScale
            validator = .contentType(contentTypes)
        }

        public func serialize(_ exchange: CompletedExchange) async throws -> PlatformImage {
            guard let data = exchange.data, !data.isEmpty else {
                throw RequestError(.emptyBody, "the response's body is empty, but the serializer needs an image")
            }
            try await validator.validate(exchange)
            guard let image = Self.image(data, scale: imageScale) else {
                throw RequestError(.invalidImage, "the body is not an image that this system can read")
            }
            return image
        }

        #if canImport(UIKit)
            private static func image(_ data: Data, scale: CGFloat) -> PlatformImage? {
                UIImage(data: data, scale: scale)
            }
        #else
            /// Returns the image of the data. AppKit measures images in points: their size is the number of pixels
            /// divided by the scale.
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

    @available(macOS 14.0, *)
    extension ResponseSerializer where Self == ImageResponseSerializer {
        /// A serializer that returns the body as an image.
        public static var image: Self { ImageResponseSerializer() }
        /// Returns a serializer of the body as an image.
        ///
        /// - Parameter scale: The number of pixels per point.
        public static func image(scale: CGFloat) -> Self { ImageResponseSerializer(imageScale: scale) }
    }
#endif
