import Larkspur

/// The parameters of a load that all views share.
struct ViewLoad<Image> {
    let url: (any URLConvertible)?
    let thumbnail: PixelSize?
    let priority: RequestPriority
    let placeholder: Image?
    let previews: Bool
    let loader: ImageLoader
    /// Returns the image for the view.
    let convert: @MainActor (DecodedImage) -> Image
    let completion: (@MainActor (Result<Image, RequestError>) -> Void)?

    /// Loads the image.
    ///
    /// - Parameter show: Shows an image or, if it is nil, none. The second parameter is whether the change may have a
    ///   transition.
    @MainActor
    func run(_ target: ImageTarget, show: @escaping @MainActor (Image?, _ isTransition: Bool) -> Void) {
        target.load(url, thumbnail: thumbnail, priority: priority, previews: previews, from: loader) { update in
            switch update {
            case .placeholder: show(placeholder, false)
            case .preview(let decoded): show(convert(decoded), false)
            case .image(let decoded, let isImmediate):
                let image = convert(decoded)
                show(image, !isImmediate)
                completion?(.success(image))
            case .failure(let error):
                // Neither the image of an earlier use nor a preview remains.
                show(placeholder, false)
                completion?(.failure(error))
            }
        }
    }
}
