import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Declarations with the names and parameters of Alamofire 5, written for this test from its documentation. They have no
/// behaviour: the compiler reads the code of its users against them.
enum Alamofire {
    static let AF = Session()

    struct AFError: Error {
        let responseCode: Int?
        var isResponseValidationError: Bool { responseCode != nil }
    }

    struct HTTPMethod {
        static let post = HTTPMethod(), put = HTTPMethod()
    }

    struct HTTPHeader {
        static func authorization(bearerToken: String) -> HTTPHeader { HTTPHeader() }
        static func accept(_ value: String) -> HTTPHeader { HTTPHeader() }
    }

    struct HTTPHeaders: ExpressibleByArrayLiteral {
        init(arrayLiteral elements: HTTPHeader...) {}
        subscript(name: String) -> String? {
            get { nil }
            set {}
        }
        mutating func update(name: String, value: String) {}
        mutating func remove(name: String) {}
    }

    struct URLEncodedFormEncoder {
        enum ArrayEncoding { case brackets, noBrackets, indexInBrackets }
        enum BoolEncoding { case numeric, literal }
        enum SpaceEncoding { case percentEscaped, plusReplaced }
        init(
            arrayEncoding: ArrayEncoding = .brackets, boolEncoding: BoolEncoding = .numeric,
            spaceEncoding: SpaceEncoding = .percentEscaped
        ) {}
    }

    struct Redirector {
        static let follow = Redirector(), doNotFollow = Redirector()
    }

    struct DataResponse<Success> {
        let request: URLRequest?
        let response: HTTPURLResponse?
        let data: Data?
        let result: Result<Success, AFError>
        var value: Success? { try? result.get() }
        var error: AFError? { nil }
        func map<Other>(_ change: (Success) -> Other) -> DataResponse<Other> {
            DataResponse<Other>(request: request, response: response, data: data, result: result.map(change))
        }
    }

    struct DataTask<Value> {
        var value: Value { get async throws { try await response.result.get() } }
        var result: Result<Value, AFError> { get async { await response.result } }
        var response: DataResponse<Value> {
            get async {
                DataResponse(request: nil, response: nil, data: nil, result: .failure(AFError(responseCode: nil)))
            }
        }
        func cancel() {}
    }

    class Request {
        var retryCount: Int { 0 }
        var error: AFError? { nil }
        @discardableResult func cancel() -> Self { self }
        @discardableResult func suspend() -> Self { self }
        @discardableResult func resume() -> Self { self }
        @discardableResult func redirect(using handler: Redirector) -> Self { self }
        @discardableResult func cURLDescription(calling handler: @escaping (String) -> Void) -> Self { self }
        @discardableResult func downloadProgress(closure: @escaping (Progress) -> Void) -> Self { self }
    }

    class DataRequest: Request {
        @discardableResult func validate() -> Self { self }
        @discardableResult func validate(statusCode: some Sequence<Int>) -> Self { self }
        @discardableResult func validate(contentType: some Sequence<String>) -> Self { self }
        @discardableResult func response(completionHandler: @escaping (DataResponse<Data?>) -> Void) -> Self { self }
        @discardableResult func responseData(completionHandler: @escaping (DataResponse<Data>) -> Void) -> Self { self }
        @discardableResult func responseString(completionHandler: @escaping (DataResponse<String>) -> Void) -> Self {
            self
        }
        @discardableResult func responseDecodable<Value: Decodable>(
            of type: Value.Type = Value.self, completionHandler: @escaping (DataResponse<Value>) -> Void
        ) -> Self { self }
        func serializingData() -> DataTask<Data> { DataTask() }
        func serializingString() -> DataTask<String> { DataTask() }
        func serializingDecodable<Value: Decodable>(_ type: Value.Type = Value.self) -> DataTask<Value> { DataTask() }
    }

    final class UploadRequest: DataRequest {}

    final class DataStreamRequest: Request {
        struct Stream<Success> {}
        @discardableResult func responseStreamString(stream: @escaping (Stream<String>) -> Void) -> Self { self }
    }

    final class DownloadRequest: Request {
        struct Options: OptionSet {
            let rawValue: UInt
            static let removePreviousFile = Options(rawValue: 1)
        }
        typealias Destination = (URL, HTTPURLResponse) -> (destinationURL: URL, options: Options)
        @discardableResult func cancel(producingResumeData handler: @escaping (Data?) -> Void) -> Self { self }
        func serializingDownloadedFileURL() -> DataTask<URL> { DataTask() }
    }

    final class MultipartFormData {
        func append(_ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil) {}
        func append(_ file: URL, withName name: String) {}
    }

    final class Session: Sendable {
        func request(
            _ url: String, method: HTTPMethod? = nil, parameters: [String: String]? = nil, headers: HTTPHeaders? = nil
        ) -> DataRequest { DataRequest() }
        func upload(_ data: Data, to url: String, method: HTTPMethod = .post) -> UploadRequest { UploadRequest() }
        func upload(_ file: URL, to url: String, method: HTTPMethod = .post) -> UploadRequest { UploadRequest() }
        func upload(_ data: Data, with request: URLRequest) -> UploadRequest { UploadRequest() }
        func upload(
            multipartFormData build: @escaping (MultipartFormData) -> Void, to url: String
        ) -> UploadRequest { UploadRequest() }
        func download(_ url: String, to destination: DownloadRequest.Destination? = nil) -> DownloadRequest {
            DownloadRequest()
        }
        func download(resumingWith data: Data) -> DownloadRequest { DownloadRequest() }
        func streamRequest(_ url: String) -> DataStreamRequest { DataStreamRequest() }
        func cancelAllRequests() {}
        func withAllRequests(perform action: @escaping (Set<ObjectIdentifier>) -> Void) {}
    }
}
