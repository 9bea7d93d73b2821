import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// Larkspur's side of the lines that the guide "Coming from Alamofire" calls the same.
@Suite("Lines that are the same in Alamofire", .limited)
struct LarkspurSide {
    private struct User: Decodable, Sendable { let name: String }

    private let session = TransportLog().session { _, _ in .json(#"{"name": "Ada"}"#) }

    @Test("A request has the same chains and closures")
    func closures() async {
        let request = await session.request("http://h/")
        // same: closures
        request.validate()
        request.validate(statusCode: 200..<300).validate(contentType: ["application/json"])
        request.validate(statusCode: [200, 304])
        request.response { response in print(response.data?.count ?? 0) }
        request.responseData { response in print(response.value?.count ?? 0) }
        request.responseString { response in print(response.value ?? "") }
        request.responseDecodable(of: User.self) { response in
            switch response.result {
            case .success(let user): print(user.name)
            case .failure(let error): print(error)
            }
        }
        request.redirect(using: .doNotFollow)
        request.cURLDescription { print($0) }
        request.suspend().resume().cancel()
        print(request.retryCount, request.error == nil)
        // end
        #expect(request.status == .cancelled || request.status == .finished)
    }

    @Test("A response is awaited in the same way")
    func values() async throws {
        let request = await session.request("http://h/")
        // same: values
        let data = try await request.serializingData().value
        let text = try await request.serializingString().value
        let user = try await request.serializingDecodable(User.self).value
        let response = await request.serializingDecodable(User.self).response
        let names = response.map(\.name)
        print(data.count, text, user.name, names.value ?? "", response.response?.statusCode ?? 0)
        if case .failure(let error) = await request.serializingString().result { print(error) }
        // end
        #expect(names.value == "Ada")
    }

    @Test("Header fields and the form encoder have the same names")
    func valuesOfRequests() throws {
        // same: headers
        var headers: HTTPHeaders = [
            .authorization(bearerToken: "token"), .accept("application/json"),
        ]
        headers.update(name: "X-Version", value: "7")
        headers.remove(name: "X-Version")
        headers["X-Version"] = "8"
        print(headers["X-Version"] ?? "")
        // end
        #expect(headers.count == 3)
        // same: forms
        let encoder = URLEncodedFormEncoder(
            arrayEncoding: .noBrackets, spaceEncoding: .plusReplaced)
        print(type(of: encoder))
        // end
        #expect(try encoder.encode(["a b": [1, 2]]) == "a+b=1&a+b=2")
    }

    // MARK: The two sides

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    private static func lines(of file: String) throws -> [String] {
        try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            .components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// Returns the lines between the marks, by the name of the mark.
    private static func blocks(of file: String) throws -> [String: [String]] {
        var (blocks, name): ([String: [String]], String?) = ([:], nil)
        for line in try lines(of: file) {
            if line.hasPrefix("// same: ") {
                name = line
            } else if line == "// end" {
                name = nil
            } else if let name {
                blocks[name, default: []].append(line)
            }
        }
        return blocks
    }

    @Test("Both sides have these lines word for word")
    func wordForWord() throws {
        let theirs = try Self.blocks(of: "AlamofireSide.swift")
        #expect(theirs.count == 4 && theirs.values.allSatisfy { $0.count > 2 })
        #expect(try Self.blocks(of: "AlamofireSameTests.swift") == theirs)
    }

    @Test("Alamofire's expressions in the guide are compiled")
    func expressions() throws {
        let guide = Self.folder.appendingPathComponent(
            "../../../Sources/Larkspur/Larkspur.docc/ComingFromAlamofire.md")
        let parts = try String(contentsOf: guide, encoding: .utf8).components(separatedBy: "`")
        let expressions = parts.filter { $0.hasPrefix("AF.") }.map { $0.replacing("{ … }", with: "{ _ in }") }
        #expect(expressions.count > 6)
        let lines = try Self.lines(of: "AlamofireSide.swift")
        for expression in expressions {
            #expect(lines.contains { $0.hasSuffix(expression) }, "not compiled: \(expression)")
        }
    }
}
