import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurMessages

@Suite("Error messages", .limited)
struct ReadableErrorTests {
    private struct User: Decodable, Sendable {
        struct Pet: Decodable { let name: String }
        let name: String
        let pets: [Pet]
    }

    private func error(
        _ body: String, _ type: String = "application/json", status: Int = 200,
        failure: (any (Decodable & Error & Sendable).Type)? = nil
    ) async -> RequestError? {
        let session = Session(transport: StubTransport { _ in .text(body, status: status, contentType: type) })
        let request = await session.request("https://h/users").validate()
        return await request.serializingDecodable(User.self, failure: failure).response.error
    }

    // MARK: Decoding

    @Test(
        "An error about an HTML page instead of data shows its beginning and the expected type",
        arguments: ["text/html; charset=utf-8", "application/json", "text/plain"])
    func page(type: String) async throws {
        let page =
            "\n <!DOCTYPE html>\n<html><head><title>Bad\u{1B}[31m gateway</title></head>"
            + String(repeating: "x", count: 5_000)
        let error = try #require(await error(page, type))
        #expect(error.code == .decodingFailed)
        #expect(error.message.contains("HTML") && error.message.contains("User"))
        #expect(error.message.contains("<!DOCTYPE html> <html><head><title>Bad\\u{1B}[31m gateway"), "\(error)")
        #expect(error.message.contains("…") && error.message.utf8.count < 300)
    }

    @Test("An attempt and its hops are printed as one line, with the error and the delay, and without the query")
    func attempts() async {
        let session = TransportLog().session { _, number in .text("ok", status: number == 1 ? 503 : 200) }
        let policy = RetryPolicy(backoff: .init(scale: .milliseconds(1), jitter: .none))
        let request = await session.request("https://h/users?key=s3cret").validate().retry(using: policy)
        #expect(await request.serializingString().response.error == nil)
        let lines = request.attempts.map { "\($0)" }
        let first = lines.first ?? ""
        #expect(
            first.hasPrefix("GET https://h/users (503); validating failed") && first.contains("; next attempt after "))
        #expect(lines.dropFirst() == ["GET https://h/users (200)"] && !first.contains("s3cret"))
    }

    @Test("The shown beginning of a page is redacted")
    func secretPage() async throws {
        let error = try #require(await error("<html><meta name=\"csrf-token\" content=\"s3cret\">", "text/html"))
        #expect(!"\(error)".contains("s3cret") && error.message.contains("REDACTED"))
    }

    @Test(
        "A decoding error names the path of the value, without the names of Swift's cases",
        arguments: [
            (#"{"pets":[]}"#, ["no value for \"name\""]),
            (#"{"name":"a","pets":[{"name":"b"},{}]}"#, ["\"name\"", "pets[1]"]),
            (#"{"name":null,"pets":[]}"#, ["null", "String", "\"name\""]),
            (#"{"name":1,"pets":[]}"#, ["String", "\"name\""]),
            ("nothing", ["not valid JSON"]),
        ])
    func place(body: String, words: [String]) async throws {
        let error = try #require(await error(body))
        for word in words + ["User"] { #expect(error.message.contains(word), "\(error)") }
        for word in ["Context(", "codingPath", "CodingKeys", "Error Domain"] {
            #expect(!error.message.contains(word), "\(error)")
        }
        #expect(error.underlying is DecodingError)
    }

    @Test("An error about a body of another type names the type")
    func otherType() async throws {
        let error = try #require(await error("Too many users", "text/plain"))
        #expect(error.message.contains("text/plain") && !error.message.contains("Too many"), "\(error)")
    }

    // MARK: Problem details

    @Test("The problem that the server describes is part of the error's line, with a limited length and redacted")
    func problem() async throws {
        let body = #"{"title":"Out of credit","detail":"Your balance is 30,\nthat costs 50.","status":403}"#
        let error = try #require(await error(body, "application/problem+json", status: 403, failure: APIProblem.self))
        #expect("\(error)".contains("the server says: Out of credit: Your balance is 30,"), "\(error)")
        #expect(!"\(error)".contains { $0.isNewline } && "\(error)".contains("status 403"))
        #expect(error.failureReason?.contains("Out of credit") == true)
        let secret = APIProblem(title: "Bad", status: 500, detail: "password=s3cret")
        #expect(!secret.line(besideStatus: 403).contains("s3cret"))
        let long = APIProblem(title: String(repeating: "a", count: 10_000), status: 500)
        #expect(long.line(besideStatus: 403).utf8.count < 400 && long.line(besideStatus: 403).hasSuffix("(status 500)"))
    }

    @Test(
        "A message names the status",
        arguments: [(429, "Too Many Requests"), (503, "Service Unavailable"), (404, "Not Found")])
    func status(status: Int, words: String) async throws {
        let error = try #require(await error("{}", status: status))
        #expect("\(error)".contains("\(status)") && "\(error)".contains(words))
        #expect(!"\(error)".lowercased().contains("not acceptable"))
        #expect(StatusText.problem(status) == words)
    }

    @Test("A status without a name is described by its class")
    func unknownStatus() {
        #expect(StatusText.described(799) == "799")
        #expect(
            [499, 599, 200, nil].map(StatusText.problem) == [
                "client error", "server error", "unexpected status", "unexpected status",
            ])
    }

    // MARK: Users of an app

    @Test("A localized description is a sentence for an app's user; the failure reason has the details")
    func localized() async throws {
        let error = try #require(await error("{}", status: 503))
        #expect(error.localizedDescription == "The server is temporarily unavailable.")
        #expect(error.recoverySuggestion == "Try again later.")
        #expect(error.failureReason == error.message)
        let lost = RequestError(
            wrapping: TransportError(.connectionRefused, "x"), as: .connectionRefused, stage: .sending)
        #expect(lost.localizedDescription == "The server could not be reached.")
        #expect(lost.recoverySuggestion?.contains("network") == true)
        let untrusted = RequestError(wrapping: TransportError(.certificateExpired), as: .untrusted, stage: .sending)
        #expect(untrusted.localizedDescription.contains("identity"))
        #expect(RequestError(.init(rawValue: "mine"), "my words").localizedDescription == "my words")
    }

    @Test("An error of an app's own code keeps its description")
    func ownWords() {
        struct Quota: LocalizedError { let errorDescription: String? = "You have no uploads left today." }
        let error = RequestError(wrapping: Quota(), as: .validationFailed, stage: .validating)
        #expect(error.localizedDescription == "You have no uploads left today.")
    }

    @Test("An NSError has a domain, a number for its code, and the texts")
    func bridged() throws {
        let cause = NSError(domain: "cause", code: 7)
        let error = RequestError(.decodingFailed, "in these words", underlying: cause) as NSError
        #expect(error.domain == "Larkspur.RequestError" && error.code == 709)
        #expect(error.localizedDescription == "The answer of the server could not be read.")
        #expect(error.localizedFailureReason == "in these words")
        #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == "cause")
        let numbers = [
            RequestError.Code.timedOut, .cancelled, .notTLS, .init(rawValue: "mine"), .init(rawValue: "other of mine"),
        ].map {
            (RequestError($0, "") as NSError).code
        }
        #expect(Set(numbers).count == 5 && numbers.prefix(3) == [310, 301, 318])
        #expect(numbers[3] == (RequestError(.init(rawValue: "mine"), "again") as NSError).code && numbers[3] >= 10_000)
    }

    @Test("Every code of the library has its own number")
    func numbers() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../Sources")
        var names: Set<String> = []
        for (file, pattern) in [
            ("LarkspurMessages/Errors/RequestError+Code.swift", #/Code\(rawValue: "(\w+)"\)/#),
            ("LarkspurTransport/TransportError.swift", #/Code\(rawValue: "(\w+)"\)/#),
        ] {
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            names.formUnion(text.matches(of: pattern).map { String($0.output.1) })
        }
        #expect(names.count > 80)
        let numbers = names.map { (RequestError(.init(rawValue: $0), "") as NSError).code }
        #expect(Set(numbers).count == numbers.count)
        let missing = zip(names, numbers).filter { $0.1 >= 10_000 }.map(\.0)
        #expect(missing.isEmpty, "add a number for each to RequestError+NSError.swift")
    }
}
