import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurImages

typealias SeededRandom = TestSupport.SeededRandom
typealias Counter = TestSupport.Counter

extension DecodedImage {
    /// An image of one color.
    static func plain(width: Int = 10, height: Int = 10) -> DecodedImage {
        DecodedImage(PixelBuffer(size: PixelSize(width: width, height: height), color: (1, 2, 3, 255)))
    }
}

extension ImageKey {
    init(_ text: String) throws { self.init(url: try text.asRequestURL()) }
}

/// Returns the code of the error that the work throws.
func code(of work: () async throws -> Void) async -> RequestError.Code? {
    do {
        try await work()
        return nil
    } catch {
        return error is CancellationError ? .cancelled : (error as? RequestError)?.code
    }
}
