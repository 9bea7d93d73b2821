import Larkspur

/// The image of one view that is used again for other images, such as the image view of a cell.
///
/// A target shows the result of its last load only. The views of UIKit and AppKit have targets of their own; create one
/// for a view of another framework:
///
///     let target = ImageTarget()
///     target.load(url, from: loader) { update in
///         switch update {
///         case .placeholder: view.show(placeholder)
///         case .preview(let image): view.show(image)
///         case .image(let image, _): view.show(image)
///         case .failure: view.show(brokenImage)
///         }
///     }
///
/// - A load of another image cancels the receipt of the earlier one, whose result is never shown.
/// - A load of the image that is already in flight does not start again; the new closure replaces the earlier one.
/// - A load of the image that is already shown shows it again at once, without a placeholder. A failed one starts
///   again.
/// - An image from the memory cache is shown before ``load(_:thumbnail:priority:previews:from:update:)`` returns.
/// - When the target is released, its receipt is cancelled.
@MainActor
public final class ImageTarget {
    /// The content that the view shows from now on.
    public enum Update: Sendable {
        /// The image is in flight, or there is no image to load.
        case placeholder
        /// A preview, while the file of the image arrives. Only loads with previews show any.
        case preview(DecodedImage)
        /// The image, and whether it was there at once. Such an image needs no transition.
        case image(DecodedImage, isImmediate: Bool)
        /// The image could not be loaded or decoded.
        case failure(RequestError)
    }

    /// A closure that shows the content.
    public typealias Show = @MainActor (Update) -> Void

    /// A load, which ends when it is released: with the target, or by the next load.
    private final class Load {
        let receipt: ImageReceipt
        let loader: ImageLoader
        var showsPreviews: Bool
        /// Nil once the image or the failure was shown, so that what the closure has captured is released.
        var update: Show?

        init(_ receipt: ImageReceipt, _ loader: ImageLoader, _ showsPreviews: Bool, _ update: @escaping Show) {
            (self.receipt, self.loader, self.showsPreviews, self.update) = (receipt, loader, showsPreviews, update)
        }

        deinit { receipt.cancel() }
    }

    private var current: Load?

    /// Creates a target without an image.
    public init() {}

    /// The URL and the thumbnail of the last load; nil if it was cancelled or its URL was not valid.
    public var key: ImageKey? { current?.receipt.key }

    /// Whether the image of the last load is in flight.
    public var isLoading: Bool { current.map { $0.receipt.result == nil } ?? false }

    /// Loads an image and shows it, in place of the earlier one.
    ///
    /// - Parameters:
    ///   - url: The URL, absolute or relative to the session's base URL. Nil shows the placeholder.
    ///   - thumbnail: The bounds of a thumbnail; nil for the image in its own size.
    ///   - priority: The priority of the request.
    ///   - previews: Whether previews are shown while the file of the image arrives; false by default.
    ///   - loader: The loader.
    ///   - update: Called with each change, until the image, a failure, the next load or a cancel. The target then
    ///     releases it. While the image is in flight, a strong capture of the view keeps the view and its load.
    public func load(
        _ url: (any URLConvertible)?, thumbnail: PixelSize? = nil, priority: RequestPriority = .normal,
        previews: Bool = false, from loader: ImageLoader, update: @escaping Show
    ) {
        guard let url else {
            cancel()
            return update(.placeholder)
        }
        if let load = current, load.loader === loader, let key = load.receipt.key,
            key == (try? loader.key(for: url, thumbnail: thumbnail))
        {
            switch load.receipt.result {
            case nil:
                (load.update, load.showsPreviews) = (update, previews)
                let latest = previews ? load.receipt.latestPreview : nil
                return update(latest.map { .preview($0) } ?? .placeholder)
            case .success(let image)?:
                load.update = nil
                return update(.image(image, isImmediate: true))
            case .failure?: break
            }
        }
        let receipt = loader.load(url, thumbnail: thumbnail, priority: priority, previews: previews)
        // The earlier receipt is cancelled after the next one is made: two thumbnails of one file share its request.
        current = Load(receipt, loader, previews, update)
        if let result = receipt.result { return show(result, of: receipt, isImmediate: true) }
        update(.placeholder)
        // The view does not wait. The task ends with the receipt, which the target cancels.
        Task { [weak self] in
            for await preview in receipt.previews { self?.show(preview, of: receipt) }
            let outcome = await receipt.outcome  // without the target, which this would keep alive
            self?.show(outcome, of: receipt, isImmediate: false)
        }
    }

    /// Cancels the load. The content of the view does not change, and the closure is not called again.
    public func cancel() { current = nil }

    private func show(_ preview: DecodedImage, of receipt: ImageReceipt) {
        // A preview that was read late is not shown: the image follows at once.
        guard let load = current, load.receipt === receipt, load.showsPreviews, receipt.result == nil else { return }
        load.update?(.preview(preview))
    }

    private func show(_ result: Result<DecodedImage, RequestError>, of receipt: ImageReceipt, isImmediate: Bool) {
        // A late result of an earlier load is ignored.
        guard let load = current, load.receipt === receipt else { return }
        guard let update = load.update else { return }
        load.update = nil
        switch result {
        case .success(let image): update(.image(image, isImmediate: isImmediate))
        case .failure(let error): update(.failure(error))
        }
    }
}
