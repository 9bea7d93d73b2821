import Larkspur

#if canImport(UIKit) && !os(watchOS)
    import UIKit

    extension UIImageView {
        /// Loads an image and shows it. Call it for each use of a cell: the request of an earlier use is cancelled, and
        /// its image is never shown.
        ///
        ///     cell.photo.setImage(from: url, placeholder: gray, transition: .crossDissolve(), thumbnail: size)
        ///
        /// - Parameters:
        ///   - url: The URL, absolute or relative to the base URL of the loader's session; nil for the placeholder.
        ///   - placeholder: The image until the other has arrived, and if it fails; nil for none.
        ///   - transition: The change from the placeholder to the image.
        ///   - thumbnail: The bounds of a thumbnail, in pixels; nil for the image in its own size.
        ///   - priority: The priority of the request.
        ///   - previews: Whether previews are shown, without a transition, while the file arrives; false by default.
        ///   - loader: The loader.
        ///   - completion: Called once with the result, and released then. It is not called if the view loads another
        ///     image first, or if it loads the same image again.
        public func setImage(
            from url: (any URLConvertible)?, placeholder: UIImage? = nil, transition: ImageTransition = .none,
            thumbnail: PixelSize? = nil, priority: RequestPriority = .normal, previews: Bool = false,
            loader: ImageLoader = .shared, completion: (@MainActor (Result<UIImage, RequestError>) -> Void)? = nil
        ) {
            let scale = pixelsPerPoint
            let load = ViewLoad(
                url: url, thumbnail: thumbnail, priority: priority, placeholder: placeholder, previews: previews,
                loader: loader, convert: { $0.platformImage(scale: scale) }, completion: completion)
            load.run(ViewLoads.of(self).target(.image)) { [weak self] image, isTransition in
                self?.dissolve(isTransition ? transition : .none) { $0.image = image }
            }
        }

        /// Cancels the load of the image. The view keeps its content.
        public func cancelImageLoad() { ViewLoads.of(self).cancel(.image) }
    }

    extension UIButton {
        /// Loads an image and shows it for a state. Each state has a load of its own. In all other respects it works
        /// like `setImage(from:placeholder:transition:thumbnail:priority:previews:loader:completion:)` of an image
        /// view.
        public func setImage(
            from url: (any URLConvertible)?, for state: UIControl.State, placeholder: UIImage? = nil,
            transition: ImageTransition = .none, thumbnail: PixelSize? = nil, priority: RequestPriority = .normal,
            previews: Bool = false, loader: ImageLoader = .shared,
            completion: (@MainActor (Result<UIImage, RequestError>) -> Void)? = nil
        ) {
            let scale = pixelsPerPoint
            let load = ViewLoad(
                url: url, thumbnail: thumbnail, priority: priority, placeholder: placeholder, previews: previews,
                loader: loader, convert: { $0.platformImage(scale: scale) }, completion: completion)
            load.run(ViewLoads.of(self).target(.image(state))) { [weak self] image, isTransition in
                self?.dissolve(isTransition ? transition : .none) { $0.setImage(image, for: state) }
            }
        }

        /// Loads a background image and shows it for a state. Each state has a load of its own. In all other respects
        /// it works like `setImage(from:placeholder:transition:thumbnail:priority:previews:loader:completion:)` of an
        /// image view.
        public func setBackgroundImage(
            from url: (any URLConvertible)?, for state: UIControl.State, placeholder: UIImage? = nil,
            transition: ImageTransition = .none, thumbnail: PixelSize? = nil, priority: RequestPriority = .normal,
            previews: Bool = false, loader: ImageLoader = .shared,
            completion: (@MainActor (Result<UIImage, RequestError>) -> Void)? = nil
        ) {
            let scale = pixelsPerPoint
            let load = ViewLoad(
                url: url, thumbnail: thumbnail, priority: priority, placeholder: placeholder, previews: previews,
                loader: loader, convert: { $0.platformImage(scale: scale) }, completion: completion)
            load.run(ViewLoads.of(self).target(.background(state))) { [weak self] image, isTransition in
                self?.dissolve(isTransition ? transition : .none) { $0.setBackgroundImage(image, for: state) }
            }
        }

        /// Cancels the load of the image for a state. The button keeps its content.
        public func cancelImageLoad(for state: UIControl.State) { ViewLoads.of(self).cancel(.image(state)) }

        /// Cancels the load of the background image for a state. The button keeps its content.
        public func cancelBackgroundImageLoad(for state: UIControl.State) {
            ViewLoads.of(self).cancel(.background(state))
        }
    }

    extension ViewLoads.Role {
        fileprivate static func image(_ state: UIControl.State) -> Self { Self(state: state.rawValue) }
        fileprivate static func background(_ state: UIControl.State) -> Self {
            Self(state: state.rawValue, isBackground: true)
        }
    }

    @MainActor
    private protocol Dissolving: UIView {}

    extension UIImageView: Dissolving {}
    extension UIButton: Dissolving {}

    extension Dissolving {
        fileprivate var pixelsPerPoint: CGFloat { max(1, traitCollection.displayScale) }

        /// Changes the view, with the transition.
        fileprivate func dissolve(_ transition: ImageTransition, _ change: @escaping @MainActor (Self) -> Void) {
            guard let duration = transition.duration else { return change(self) }
            UIView.transition(
                with: self, duration: duration.inSeconds, options: [.transitionCrossDissolve, .allowUserInteraction],
                animations: { change(self) })
        }
    }
#endif
