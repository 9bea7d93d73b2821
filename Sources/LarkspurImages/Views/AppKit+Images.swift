import Larkspur

#if canImport(AppKit) && !canImport(UIKit)
    import AppKit

    extension NSImageView {
        /// Loads an image and shows it. Call it for each use of a cell: the request of an earlier use is cancelled, and
        /// its image is never shown.
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
            from url: (any URLConvertible)?, placeholder: NSImage? = nil, transition: ImageTransition = .none,
            thumbnail: PixelSize? = nil, priority: RequestPriority = .normal, previews: Bool = false,
            loader: ImageLoader = .shared, completion: (@MainActor (Result<NSImage, RequestError>) -> Void)? = nil
        ) {
            let scale = window?.backingScaleFactor ?? NSScreen.main?.backingScaleFactor ?? 1
            let load = ViewLoad(
                url: url, thumbnail: thumbnail, priority: priority, placeholder: placeholder, previews: previews,
                loader: loader, convert: { $0.platformImage(scale: scale) }, completion: completion)
            load.run(ViewLoads.of(self).target(.image)) { [weak self] image, isTransition in
                if isTransition { self?.dissolve(transition) }
                self?.image = image
            }
        }

        /// Cancels the load of the image. The view keeps its content.
        public func cancelImageLoad() { ViewLoads.of(self).cancel(.image) }

        /// Lets the next content of the layer take the place of the present one in the duration of the transition.
        private func dissolve(_ transition: ImageTransition) {
            guard let duration = transition.duration else { return }
            wantsLayer = true
            let fade = CATransition()
            fade.type = .fade
            fade.duration = duration.inSeconds
            layer?.add(fade, forKey: kCATransition)
        }
    }

    extension NSProgressIndicator {
        /// Animates while the request runs. Nil, and a request that has finished, stop the animation.
        ///
        /// The request is not started. The indicator follows one request at a time.
        public func followActivity(of request: (any Request)?) {
            isIndeterminate = true
            ViewLoads.of(self).tracker.followActivity(of: request) { [weak self] isRunning in
                if isRunning { self?.startAnimation(nil) } else { self?.stopAnimation(nil) }
            }
        }

        /// Shows the progress of the request, starting with 0. While the total is unknown, the bar does not move.
        ///
        /// - Parameters:
        ///   - request: The request, which is not started; nil for none. The bar follows one request at a time.
        ///   - phase: The upload of the request's body or the download of the response's body.
        public func followProgress(of request: (any Request)?, phase: RequestProgress.Phase = .download) {
            (isIndeterminate, minValue, maxValue, doubleValue) = (false, 0, 1, 0)
            ViewLoads.of(self).tracker.followProgress(of: request, phase: phase) { [weak self] progress in
                if let fraction = progress.fraction { self?.doubleValue = fraction }
            }
        }
    }
#endif
