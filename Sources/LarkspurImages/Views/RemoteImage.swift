import Larkspur

#if canImport(SwiftUI) && canImport(CoreGraphics)
    public import SwiftUI

    /// The state of a ``RemoteImage``.
    public enum RemoteImagePhase: Sendable {
        /// The image has not arrived, or there is no URL.
        case empty
        /// A preview, while the file of the image arrives. Only views with previews have this phase.
        case preview(Image)
        /// The image.
        case success(Image)
        /// The image could not be loaded or decoded.
        case failure(RequestError)

        /// The image or its preview; nil if neither has arrived.
        public var image: Image? {
            switch self {
            case .preview(let image), .success(let image): image
            case .empty, .failure: nil
            }
        }
        /// The error; nil if there is none.
        public var error: RequestError? { if case .failure(let error) = self { error } else { nil } }
    }

    /// A view that loads an image by an ``ImageLoader`` and shows it.
    ///
    ///     RemoteImage(url, thumbnail: PixelSize(width: 200, height: 200)) { phase in
    ///         switch phase {
    ///         case .empty: ProgressView()
    ///         case .preview(let image), .success(let image): image.resizable().scaledToFit()
    ///         case .failure: Image(systemName: "photo")
    ///         }
    ///     }
    ///
    /// An image from the memory cache is shown at once. The request is cancelled when the view disappears or gets
    /// another URL, unless another view waits for the same image. A failed image is loaded again when the view appears
    /// again, or when its identity changes: `.id(attempt)`, where a button counts the attempts.
    public struct RemoteImage<Content: View>: View {
        private let source: RemoteImageSource
        private let transaction: Transaction
        private let content: (RemoteImagePhase) -> Content
        @StateObject private var model = RemoteImageModel()

        /// Creates a view whose content depends on the phase.
        ///
        /// - Parameters:
        ///   - url: The URL, absolute or relative to the base URL of the loader's session; nil for none.
        ///   - thumbnail: The bounds of a thumbnail, in pixels; nil for the image in its own size.
        ///   - priority: The priority of the request.
        ///   - scale: The number of pixels per point; 1 by default. Use the environment's `displayScale` for an image
        ///     whose own size is shown, without `resizable()`.
        ///   - previews: Whether previews are shown while the file of the image arrives; false by default.
        ///   - loader: The loader.
        ///   - transaction: The transaction of a change of the phase, for example with an animation.
        ///   - content: The content for a phase.
        public init(
            _ url: (any URLConvertible)?, thumbnail: PixelSize? = nil, priority: RequestPriority = .normal,
            scale: CGFloat = 1, previews: Bool = false, loader: ImageLoader = .shared,
            transaction: Transaction = Transaction(), @ViewBuilder content: @escaping (RemoteImagePhase) -> Content
        ) {
            source = RemoteImageSource(url, thumbnail, priority, scale, previews, loader)
            self.transaction = transaction
            self.content = content
        }

        /// Creates a view with a placeholder, which is also shown after a failure.
        public init<Loaded: View, Placeholder: View>(
            _ url: (any URLConvertible)?, thumbnail: PixelSize? = nil, priority: RequestPriority = .normal,
            scale: CGFloat = 1, previews: Bool = false, loader: ImageLoader = .shared,
            @ViewBuilder content: @escaping (Image) -> Loaded, @ViewBuilder placeholder: @escaping () -> Placeholder
        ) where Content == _ConditionalContent<Loaded, Placeholder> {
            self.init(
                url, thumbnail: thumbnail, priority: priority, scale: scale, previews: previews, loader: loader
            ) { phase in
                if let image = phase.image { content(image) } else { placeholder() }
            }
        }

        public var body: some View {
            content(model.phase(of: source))
                // The task of a view that has disappeared meanwhile still begins.
                .task(id: source) { if !Task.isCancelled { model.load(source, transaction) } }
                .onDisappear { model.cancel() }
        }
    }

    /// The identity of an image and what is needed to load it.
    struct RemoteImageSource: Equatable {
        let url: (any URLConvertible)?
        let key: ImageKey?
        let priority: RequestPriority
        let scale: CGFloat
        let previews: Bool
        let loader: ImageLoader

        init(
            _ url: (any URLConvertible)?, _ thumbnail: PixelSize?, _ priority: RequestPriority, _ scale: CGFloat,
            _ previews: Bool, _ loader: ImageLoader
        ) {
            self.url = url
            key = url.flatMap { try? loader.key(for: $0, thumbnail: thumbnail) }
            self.priority = priority
            self.scale = scale
            self.previews = previews
            self.loader = loader
        }

        static func == (left: Self, right: Self) -> Bool {
            left.key == right.key && (left.url == nil) == (right.url == nil) && left.scale == right.scale
                && left.previews == right.previews && left.loader === right.loader
        }

        func image(_ decoded: DecodedImage) -> Image { Image(decorative: decoded.cgImage, scale: scale) }
    }

    /// The phase of a view's image.
    @MainActor
    final class RemoteImageModel: ObservableObject {
        private let target = ImageTarget()
        private var current: (source: RemoteImageSource, phase: RemoteImagePhase)?

        /// Returns the phase of the source. Before its load has started, that is the image from the memory cache.
        func phase(of source: RemoteImageSource) -> RemoteImagePhase {
            if let current, current.source == source { return current.phase }
            return source.key.flatMap { source.loader.cache?.image(for: $0) }.map { .success(source.image($0)) }
                ?? .empty
        }

        func load(_ source: RemoteImageSource, _ transaction: Transaction) {
            target.load(
                source.url, thumbnail: source.key?.thumbnail, priority: source.priority, previews: source.previews,
                from: source.loader
            ) { [weak self] update in
                switch update {
                case .placeholder: self?.show(.empty, of: source, Transaction())
                case .preview(let image): self?.show(.preview(source.image(image)), of: source, Transaction())
                case .image(let image, let isImmediate):
                    self?.show(.success(source.image(image)), of: source, isImmediate ? Transaction() : transaction)
                case .failure(let error): self?.show(.failure(error), of: source, transaction)
                }
            }
        }

        func cancel() {
            // The image stays in the memory cache only, so that views that have disappeared keep none.
            target.cancel()
            current = nil
        }

        private func show(_ phase: RemoteImagePhase, of source: RemoteImageSource, _ transaction: Transaction) {
            withTransaction(transaction) {
                objectWillChange.send()
                current = (source, phase)
            }
        }
    }
#endif
