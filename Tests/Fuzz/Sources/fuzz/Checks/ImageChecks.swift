import Foundation

@testable import LarkspurImages

/// Checks a file of an image: its header, and its pixels by the libraries of the system. Without a library, only the
/// header is checked.
func checkImages(_ bytes: [UInt8]) throws {
    let data = Data(bytes)
    try checkHeader(data)
    let decoder = SystemImageDecoder(limits: ImageLimits { $0.maximumPixels = 1 << 14 })
    let whole = try? decoder.decode(data)
    for bounds in [PixelSize(width: 7, height: 7), PixelSize(width: 40, height: 3)] {
        guard let small = try? decoder.decode(data, thumbnail: bounds) else { continue }
        let header = try ImageHeader(data)
        try require(small.sourceSize == header.uprightSize, "a thumbnail knows the size of its image")
        try require(small.size == header.uprightSize.fitting(in: bounds), "a thumbnail fits into its bounds")
        try require(small.size.width >= 1 && small.size.height >= 1, "a thumbnail has pixels")
    }
    try checkPreviews(data, decoder)
    #if os(Linux)
        guard let whole else { return }
        try require(whole.size == (try ImageHeader(data)).uprightSize, "an image has the size of its header")
        try require(whole.pixels.bytes.count == whole.cost, "each pixel has four bytes")
        try require((try? decoder.decode(data).pixels) == whole.pixels, "pixels are the same each time")
        // Other decoders work without libpng.
        guard let file = try? whole.pixels.png() else { return }
        try require((try? decoder.decode(file).pixels) == whole.pixels, "pixels written as a PNG are read the same")
    #endif
}

/// Checks previews of parts of a file.
private func checkPreviews(_ data: Data, _ decoder: SystemImageDecoder) throws {
    for part in 1...4 {
        let bytes = data.prefix(data.count * part / 4)
        for bounds in [nil, PixelSize(width: 7, height: 5)] {
            guard let preview = try? decoder.decodePreview(bytes, thumbnail: bounds) else { continue }
            let size = try ImageHeader(data).uprightSize
            try require(preview.sourceSize == size, "a preview knows the size of its image")
            try require(preview.size == bounds.map(size.fitting) ?? size, "a preview has the size of the image")
            #if os(Linux)
                try require(preview.pixels.bytes.count == preview.cost, "each pixel has four bytes")
                guard part == 4, bounds == nil, let whole = try? decoder.decode(data) else { continue }
                let isJPEG = try ImageHeader(data).format == .jpeg
                try require(isJPEG || preview.pixels == whole.pixels, "a preview of all bytes is the image")
            #endif
        }
    }
}

/// Checks that a part of a file is read like the file, or asks for more bytes.
private func checkHeader(_ data: Data) throws {
    let whole = ImageHeader.read(data)
    for count in stride(from: 0, to: data.count, by: max(1, data.count / 16)) {
        let part = ImageHeader.read(data.prefix(count))
        switch part {
        case .incomplete: break
        case .found: try require(part == whole, "more bytes do not change a header")
        case .notAnImage: try require(whole == .notAnImage, "more bytes do not make an image")
        }
    }
    if case .found(let header) = whole {
        try require(header.size.width > 0 && header.size.height > 0, "an image has pixels")
    }
}
