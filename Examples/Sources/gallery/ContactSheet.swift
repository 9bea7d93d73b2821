import Larkspur
import LarkspurImages

#if !canImport(CoreGraphics)
    /// Thumbnails in rows, each in a frame with its caption below.
    struct ContactSheet {
        static let thumbnail = PixelSize(width: 160, height: 120)
        private static let ink: (UInt8, UInt8, UInt8, UInt8) = (40, 44, 52, 255)
        private static let gray: (UInt8, UInt8, UInt8, UInt8) = (130, 136, 146, 255)

        let title: String
        let columns: Int
        var pictures: [(name: String, image: DecodedImage)] = []

        func draw() -> PixelBuffer {
            let (width, height) = (Self.thumbnail.width + 24, Self.thumbnail.height + 52)
            let rows = (pictures.count + columns - 1) / columns
            var sheet = PixelBuffer(
                size: PixelSize(width: columns * width + 24, height: rows * height + 68),
                color: (244, 243, 239, 255))
            Lettering.draw(title, on: &sheet, x: 28, y: 26, scale: 3, color: Self.ink)
            for (index, picture) in pictures.enumerated() {
                let (left, top) = (12 + index % columns * width, 60 + index / columns * height)
                draw(picture.image, on: &sheet, left: left + 6, top: top + 6)
                let source = picture.image.sourceSize
                caption(picture.name, on: &sheet, center: left + width / 2, y: top + height - 30, Self.ink)
                caption(
                    "\(source.width) x \(source.height)", on: &sheet, center: left + width / 2, y: top + height - 18,
                    Self.gray)
            }
            return sheet
        }

        /// Draws an image on white paper, in the middle.
        private func draw(_ image: DecodedImage, on sheet: inout PixelBuffer, left: Int, top: Int) {
            let paper = PixelSize(width: Self.thumbnail.width + 12, height: Self.thumbnail.height + 12)
            sheet.draw(PixelBuffer(size: paper, color: (0, 0, 0, 28)), x: left + 2, y: top + 2)
            sheet.draw(PixelBuffer(size: paper, color: (255, 255, 255, 255)), x: left, y: top)
            sheet.draw(
                image.pixels, x: left + (paper.width - image.size.width) / 2,
                y: top + (paper.height - image.size.height) / 2)
        }

        private func caption(
            _ text: String, on sheet: inout PixelBuffer, center: Int, y: Int, _ color: (UInt8, UInt8, UInt8, UInt8)
        ) {
            Lettering.draw(text, on: &sheet, x: center - Lettering.width(of: text) / 2, y: y, color: color)
        }
    }
#endif
