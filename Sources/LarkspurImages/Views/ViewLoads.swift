import Larkspur

#if (canImport(UIKit) && !os(watchOS)) || (canImport(AppKit) && !canImport(UIKit))
    import ObjectiveC

    #if canImport(UIKit)
        import UIKit
    #else
        import AppKit
    #endif

    /// The change from the placeholder to the image. An image from the memory cache is shown at once.
    public struct ImageTransition: Sendable, Hashable {
        let duration: Duration?

        /// Shows the image at once.
        public static let none = ImageTransition(duration: nil)

        /// Dissolves the placeholder into the image, in 0.25 s by default.
        public static func crossDissolve(_ duration: Duration = .milliseconds(250)) -> ImageTransition {
            ImageTransition(duration: duration)
        }
    }

    /// The loads of one view, which end with the view.
    @MainActor
    final class ViewLoads {
        /// The image of a view that a target is for. A button has one for each state and kind.
        struct Role: Hashable {
            static let image = Role()

            var state: UInt = 0
            var isBackground = false
        }

        let tracker = RequestTracker()
        /// The request of the page that a web view shows next.
        var page: DataRequest?
        private var targets: [Role: ImageTarget] = [:]

        // Only the address is used. It is that of no other object, because the memory is never freed.
        private static let key = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)

        /// Returns the loads of a view.
        static func of(_ view: AnyObject) -> ViewLoads {
            if let loads = objc_getAssociatedObject(view, key) as? ViewLoads { return loads }
            let loads = ViewLoads()
            objc_setAssociatedObject(view, key, loads, .OBJC_ASSOCIATION_RETAIN_NONATOMIC)
            return loads
        }

        func target(_ role: Role) -> ImageTarget {
            if let target = targets[role] { return target }
            let target = ImageTarget()
            targets[role] = target
            return target
        }

        func cancel(_ role: Role) { targets[role]?.cancel() }
    }

    extension Duration {
        var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
    }
#endif

#if canImport(CoreGraphics) && (canImport(UIKit) || canImport(AppKit))
    extension DecodedImage {
        /// Returns the image for a view.
        ///
        /// - Parameter scale: The number of pixels per point; 1 by default.
        public func platformImage(scale: CGFloat = 1) -> PlatformImage {
            #if canImport(UIKit)
                UIImage(cgImage: cgImage, scale: scale, orientation: .up)
            #else
                NSImage(
                    cgImage: cgImage,
                    size: NSSize(width: CGFloat(size.width) / scale, height: CGFloat(size.height) / scale))
            #endif
        }
    }
#endif
