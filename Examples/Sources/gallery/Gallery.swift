import Larkspur
import LarkspurImages
import LarkspurTesting

// A contact sheet of a server's pictures: thumbnails with captions, in one PNG file, and the hit rates of both caches.
//
// usage: gallery [FILE]

@main
struct Gallery {
    static func main() async throws {
        let server = try MockServer()
        serve(server)
        do { try await run(server) } catch let error as RequestError where error.code == .imageLibraryMissing {
            FileHandle.standardError.write(Data("no contact sheet: \(error.message)\n".utf8))
            exit(1)
        }
        await server.stop()
    }

    /// A list of names, and a file for each name.
    static func serve(_ server: MockServer) {
        let names = Pictures.files.map { "\"\($0.name)\"" }.joined(separator: ",")
        server.on("GET", "/pictures", .json("[\(names)]"))
        for (name, file) in Pictures.files {
            let data = file.data
            server.on("GET", "/pictures/\(name).png") { _ in
                .response(headers: ["Content-Type": "image/png", "Cache-Control": "max-age=3600"], chunks: [data])
            }
        }
    }

    static func run(_ server: MockServer) async throws {
        let session = Session(configuration: SessionConfiguration { $0.cache = .inMemory() })
        var loader = ImageLoader(session: session)
        let list = await session.request("\(server.url)/pictures").validate()
        let names = try await list.serializingDecodable([String].self).value
        let size = PixelSize(width: 160, height: 120)
        func load() -> [ImageReceipt] {
            names.map { loader.load("\(server.url)/pictures/\($0).png", thumbnail: size) }
        }
        var before = loader.statistics
        // Two callers want each thumbnail. They share one request and one decoding.
        let (first, second) = (load(), load())
        var pictures: [(String, DecodedImage)] = []
        for (name, receipt) in zip(names, first) { pictures.append((name, try await receipt.image)) }
        for receipt in second { _ = try await receipt.image }
        show("two callers", loader, since: &before)

        for receipt in load() { _ = try await receipt.image }
        show("again", loader, since: &before)
        loader = ImageLoader(session: session)  // as after a restart, with nothing in memory
        before = loader.statistics
        for receipt in load() { _ = try await receipt.image }
        show("with an empty memory", loader, since: &before)
        print("the server sent \(server.log.requestCount - 1) pictures")
        try write(pictures)
    }

    /// Prints how many thumbnails needed no request, and how many requests needed no network.
    static func show(_ title: String, _ loader: ImageLoader, since before: inout ImageLoader.Statistics) {
        let now = loader.statistics
        let (asked, requests) = (now.requested - before.requested, now.exchanges - before.exchanges)
        print(
            "\(title): \(asked) thumbnails, \((asked - requests) * 100 / asked) % without a request,", terminator: " ")
        print("\(now.diskHits - before.diskHits) of \(requests) requests from the HTTP cache")
        before = now
    }

    static func write(_ pictures: [(String, DecodedImage)]) throws {
        #if canImport(CoreGraphics)
            print("\(pictures.count) images; the sheet is drawn on Linux only")
        #else
            let sheet = ContactSheet(title: "Gallery", columns: 4, pictures: pictures).draw()
            print("a sheet of \(pictures.count) pictures, \(sheet.size) pixels")
            guard CommandLine.arguments.count > 1 else { return }
            try sheet.png().write(to: URL(fileURLWithPath: CommandLine.arguments[1]))
        #endif
    }
}
