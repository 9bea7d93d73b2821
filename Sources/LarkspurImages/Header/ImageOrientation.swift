/// How a camera was held: the change that makes the stored pixels upright. The numbers are those of Exif.
public enum ImageOrientation: Int, Sendable, Hashable, CaseIterable {
    /// The pixels are upright.
    case up = 1
    /// The pixels are mirrored from left to right.
    case upMirrored = 2
    /// The pixels are rotated by 180°.
    case down = 3
    /// The pixels are mirrored from top to bottom.
    case downMirrored = 4
    /// The rows are columns: the first row is the left column.
    case leftMirrored = 5
    /// The pixels have to be rotated clockwise by 90°.
    case right = 6
    /// The rows are columns in reverse: the first row is the right column, from bottom to top.
    case rightMirrored = 7
    /// The pixels have to be rotated counterclockwise by 90°.
    case left = 8

    /// Whether rows become columns, so that width and height are exchanged.
    public var isSideways: Bool { rawValue >= 5 }

    /// Reads the orientation in a segment of Exif data. Returns nil if there is none, or if the data is damaged.
    init?(exif segment: ImageBytes) {
        guard segment.matches(Array("Exif\0\0".utf8), at: 0) == true else { return nil }
        let tiff = segment.part(6..<segment.count)
        let isLittle: Bool
        if tiff.matches([0x49, 0x49, 0x2A, 0], at: 0) == true {
            isLittle = true
        } else if tiff.matches([0x4D, 0x4D, 0, 0x2A], at: 0) == true {
            isLittle = false
        } else {
            return nil
        }
        do {
            let value = try Self.value(in: tiff) { (offset, count) throws(ImageBytes.Failure) in
                if isLittle { return try tiff.little(offset, count: count) }
                return try count == 2 ? tiff.big16(offset) : tiff.big32(offset)
            }
            guard let value else { return nil }
            self.init(rawValue: value)
        } catch {
            return nil
        }
    }

    /// Searches the first directory for the tag of the orientation.
    private static func value(
        in tiff: ImageBytes, _ number: (_ offset: Int, _ count: Int) throws(ImageBytes.Failure) -> Int
    ) throws(ImageBytes.Failure) -> Int? {
        let directory = try number(4, 4)
        for index in 0..<(try number(directory, 2)) {
            let entry = directory + 2 + index * 12
            guard try number(entry, 2) == 0x0112 else { continue }
            // One value of the type "short".
            guard try number(entry + 2, 2) == 3, try number(entry + 4, 4) == 1 else { return nil }
            return try number(entry + 8, 2)
        }
        return nil
    }
}
