import Larkspur
import LarkspurTesting
import TestSupport
import Testing

#if Foundation || canImport(Darwin)
    @Suite("The codes of URLError", .limited)
    struct URLErrorCodeTests {
        @Test(
            "A failure has the code that Foundation has for it",
            arguments: [
                (TransportError.Code.nameLookup, URLError.Code.cannotFindHost),
                (.connectionRefused, .cannotConnectToHost), (.unreachable, .notConnectedToInternet),
                (.connectionLost, .networkConnectionLost), (.timedOut, .timedOut),
                (.certificateExpired, .serverCertificateHasBadDate), (.wrongHost, .serverCertificateUntrusted),
                (.unknownIssuer, .serverCertificateHasUnknownRoot), (.handshake, .secureConnectionFailed),
                (.protocolViolation, .badServerResponse), (.contentTooLarge, .dataLengthExceedsMaximum),
            ])
        func code(code: TransportError.Code, expected: URLError.Code) async throws {
            let session = TransportLog().session { _, _ in .failure(code) }
            let response = await session.request("http://h/").serializingData().response
            #expect(response.error?.urlErrorCode == expected)
        }

        @Test("Failures before and after the exchange have theirs, and a rejected status has none")
        func others() async throws {
            let session = TransportLog().session { _, _ in .response(404) }
            let relative = await session.request("a").serializingData().response
            #expect(relative.error?.urlErrorCode == .badURL)
            let refused = await session.request("http://h/").validate().serializingData().response
            #expect(refused.error != nil && refused.error?.urlErrorCode == nil)
            let folder = try TemporaryFolder()
            try folder.write([1], to: "a")
            let exists = await session.download("http://h/", to: folder["a"]).serializingFile().response
            #expect(exists.error?.urlErrorCode == .cannotCreateFile)
            let request = await session.request("http://h/")
            request.cancel()
            #expect(await request.serializingData().response.error?.urlErrorCode == .cancelled)
        }
    }
#endif
