import Larkspur

#if canImport(UIKit) && !os(watchOS)
    import UIKit

    extension UIActivityIndicatorView {
        /// Animates while the request runs. Nil, and a request that has finished, stop the animation.
        ///
        /// The request is not started. The indicator follows one request at a time.
        public func followActivity(of request: (any Request)?) {
            ViewLoads.of(self).tracker.followActivity(of: request) { [weak self] isRunning in
                if isRunning { self?.startAnimating() } else { self?.stopAnimating() }
            }
        }
    }

    #if !os(tvOS)
        extension UIRefreshControl {
            /// Refreshes while the request runs. Nil, and a request that has finished, end the refresh.
            ///
            /// The request is not started. The control follows one request at a time.
            public func followActivity(of request: (any Request)?) {
                ViewLoads.of(self).tracker.followActivity(of: request) { [weak self] isRunning in
                    if isRunning { self?.beginRefreshing() } else { self?.endRefreshing() }
                }
            }
        }
    #endif

    extension UIProgressView {
        /// Shows the progress of the request, starting with 0. While the total is unknown, the bar does not move.
        ///
        /// - Parameters:
        ///   - request: The request, which is not started; nil for none. The bar follows one request at a time.
        ///   - phase: The upload of the request's body or the download of the response's body.
        ///   - isAnimated: Whether changes are animated.
        public func followProgress(
            of request: (any Request)?, phase: RequestProgress.Phase = .download, isAnimated: Bool = true
        ) {
            setProgress(0, animated: false)
            ViewLoads.of(self).tracker.followProgress(of: request, phase: phase) { [weak self] progress in
                guard let fraction = progress.fraction else { return }
                self?.setProgress(Float(fraction), animated: isAnimated)
            }
        }
    }
#endif
