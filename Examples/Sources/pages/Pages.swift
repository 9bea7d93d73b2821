import Larkspur
import LarkspurTesting

// A list that the server delivers in pages: by links, by a cursor and by numbers.

struct Page: Codable, Sendable {
    let items: [String]
    let next: String?
}

@main
struct Pages {
    static func main() async throws {
        let letters = ["a", "b", "c", "d", "e", "f", "g"]
        let server = try MockServer()
        let url = server.url
        server.on("GET", "/links") { request in
            let start = Int(request.query?.split(separator: "=").last ?? "") ?? 0
            let next = start + 3
            let link = "<?from=\(next)>; rel=\"next\", </links>; rel=\"first\""
            let items = letters.dropFirst(start).prefix(3)
            return .response(
                headers: next < letters.count ? ["Link": link] : [:],
                chunks: [Data(items.description.utf8)])
        }
        server.on("GET", "/cursor") { request in
            request.query == nil
                ? .json(#"{"items": ["a", "b"], "next": "x&y"}"#) : .json(#"{"items": ["c"], "next": null}"#)
        }
        server.on("GET", "/circle") { _ in
            .response(headers: ["Link": "</circle>; rel=next"], chunks: [Data("[]".utf8)])
        }
        let session = Session()

        for try await page in session.pages(of: [String].self, from: url + "/links", by: .linkHeader) {
            print("by links:", page.joined(separator: " "))
        }
        let byCursor = session.pages(
            of: Page.self, from: url + "/cursor", by: .cursor(in: \.next, parameter: "after"))
        for try await page in byCursor { print("by cursor:", page.items.joined(separator: " ")) }

        let ahead = session.pages(of: [String].self, from: url + "/links", by: .linkHeader, ahead: true)
        for try await page in ahead.prefix(2) { print("one page ahead:", page.joined(separator: " ")) }

        do {
            for try await _ in session.pages(of: [String].self, from: url + "/circle", by: .linkHeader) {
                print("a page")
            }
        } catch let error as RequestError {
            print("ended: \(error.code)")
        }
        await server.stop()
    }
}
