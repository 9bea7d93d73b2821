/// A reader that reads a file from its start, in pieces of at most 256 KiB.
package struct FilePieces {
    private let file: ReadableFile
    private var position: UInt64 = 0

    package init(of url: URL) throws(RequestError) { file = try ReadableFile.open(url) }

    package mutating func next() throws(RequestError) -> [UInt8]? {
        do {
            let piece = try [UInt8](unsafeUninitializedCapacity: 256 << 10) { buffer, count in
                count = try file.read(at: position, into: UnsafeMutableRawBufferPointer(buffer))
            }
            position += UInt64(piece.count)
            return piece.isEmpty ? nil : piece
        } catch {
            throw RequestError(wrapping: error, as: .fileUnreadable)
        }
    }
}

extension Data {
    package init(of file: URL) throws(RequestError) {
        self.init()
        var pieces = try FilePieces(of: file)
        while let piece = try pieces.next() { self += piece }
    }
}
