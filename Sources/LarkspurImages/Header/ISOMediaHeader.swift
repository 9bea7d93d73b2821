/// The header of AVIF and HEIF files: nested boxes, as in MP4 (ISO/IEC 14496-12 and 23008-12).
enum ISOMediaHeader {
    private struct Box {
        let type: String
        let content: Range<Int>
    }

    /// The maximum number of boxes that are read in a file.
    private static let maximumBoxes = 1_000

    static func read(_ bytes: ImageBytes) throws(ImageBytes.Failure) -> ImageHeader {
        let fileType = try box(bytes, at: 0, end: .max)
        let (format, isAnimated) = try brand(bytes, fileType.content)
        var offset = fileType.content.upperBound
        for _ in 0..<maximumBoxes {
            let box = try box(bytes, at: offset, end: .max)
            if box.type == "meta" {
                // A full box has a version and flags before its content.
                let size = try largest(
                    bytes, box.content.lowerBound + 4..<max(box.content.upperBound, box.content.lowerBound + 4))
                return ImageHeader(format, size.width, size.height, isAnimated: isAnimated)
            }
            offset = box.content.upperBound
        }
        throw .damaged
    }

    private static func brand(_ bytes: ImageBytes, _ content: Range<Int>) throws(ImageBytes.Failure) -> (
        ImageFormat, Bool
    ) {
        var brands: Set<String> = []
        // The major brand, a version, and the compatible brands.
        for offset in stride(from: content.lowerBound, to: min(content.upperBound, content.lowerBound + 256), by: 4)
        where offset != content.lowerBound + 4 && offset + 4 <= content.upperBound {
            brands.insert(try bytes.tag(offset))
        }
        if !brands.isDisjoint(with: ["avif", "avis"]) { return (.avif, brands.contains("avis")) }
        if !brands.isDisjoint(with: ["heic", "heix", "heim", "heis", "mif1", "msf1"]) { return (.heif, false) }
        throw .damaged
    }

    /// Returns the largest of the sizes among the properties of the file's images.
    private static func largest(_ bytes: ImageBytes, _ meta: Range<Int>) throws(ImageBytes.Failure) -> PixelSize {
        let properties = try child("iprp", of: bytes, in: meta)
        let container = try child("ipco", of: bytes, in: properties)
        var largest = PixelSize(width: 0, height: 0)
        var offset = container.lowerBound
        for _ in 0..<maximumBoxes where offset < container.upperBound {
            let box = try box(bytes, at: offset, end: container.upperBound)
            if box.type == "ispe" {
                let size = PixelSize(
                    width: try bytes.big32(box.content.lowerBound + 4),
                    height: try bytes.big32(box.content.lowerBound + 8))
                if (size.area ?? .max) > (largest.area ?? .max) { largest = size }
            }
            offset = box.content.upperBound
        }
        return largest
    }

    private static func child(
        _ type: String, of bytes: ImageBytes, in range: Range<Int>
    ) throws(ImageBytes.Failure) -> Range<Int> {
        var offset = range.lowerBound
        for _ in 0..<maximumBoxes where offset < range.upperBound {
            let box = try box(bytes, at: offset, end: range.upperBound)
            if box.type == type { return box.content }
            offset = box.content.upperBound
        }
        throw .damaged
    }

    /// Reads a box that must end at `end` or before.
    private static func box(_ bytes: ImageBytes, at offset: Int, end: Int) throws(ImageBytes.Failure) -> Box {
        var size = try bytes.big32(offset)
        let type = try bytes.tag(offset + 4)
        var start = offset + 8
        if size == 1 {
            guard try bytes.big32(offset + 8) == 0 else { throw .damaged }  // 4 GiB or more
            size = try bytes.big32(offset + 12)
            start += 8
        }
        guard size >= start - offset, size <= end - offset else { throw .damaged }
        return Box(type: type, content: start..<offset + size)
    }
}
