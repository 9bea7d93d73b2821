import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// Alamofire's side of the guide "Coming from Alamofire". This file does not import Larkspur, so the names are those of the
// declarations. The functions are compiled and never called.

extension Alamofire {
    struct User: Decodable { let name: String }

    /// The lines that the guide calls the same. `LarkspurSide` has them word for word.
    private static func closures(_ request: DataRequest) {
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
    }

    private static func values(_ request: DataRequest) async throws {
        // same: values
        let data = try await request.serializingData().value
        let text = try await request.serializingString().value
        let user = try await request.serializingDecodable(User.self).value
        let response = await request.serializingDecodable(User.self).response
        let names = response.map(\.name)
        print(data.count, text, user.name, names.value ?? "", response.response?.statusCode ?? 0)
        if case .failure(let error) = await request.serializingString().result { print(error) }
        // end
    }

    private static func headers() {
        // same: headers
        var headers: HTTPHeaders = [
            .authorization(bearerToken: "token"), .accept("application/json"),
        ]
        headers.update(name: "X-Version", value: "7")
        headers.remove(name: "X-Version")
        headers["X-Version"] = "8"
        print(headers["X-Version"] ?? "")
        // end
    }

    private static func forms() {
        // same: forms
        let encoder = URLEncodedFormEncoder(
            arrayEncoding: .noBrackets, spaceEncoding: .plusReplaced)
        print(type(of: encoder))
        // end
    }

    /// The expressions of the guide that have another form in Larkspur.
    private static func others(_ url: String, _ data: Data, _ file: URL, _ fileURL: URL, _ urlRequest: URLRequest) {
        let destination: DownloadRequest.Destination = { temporary, _ in (temporary, [.removePreviousFile]) }
        AF.request(url).validate().responseDecodable(of: User.self) { _ in }
        _ = AF.upload(data, to: url)
        _ = AF.upload(fileURL, to: url)
        _ = AF.upload(data, with: urlRequest)
        _ = AF.upload(multipartFormData: { $0.append(file, withName: "photo") }, to: url)
        let download = AF.download(url, to: destination)
        download.cancel(producingResumeData: { _ in })
        _ = AF.download(resumingWith: data)
        AF.streamRequest(url).responseStreamString { _ in }
        AF.withAllRequests { _ in }
    }
}
