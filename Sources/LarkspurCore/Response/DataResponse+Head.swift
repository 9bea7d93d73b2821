extension DataResponse {
    /// The status of the response; nil without a response.
    public var statusCode: Int? { head?.status }
    /// The header fields of the response; nil without a response.
    public var headers: HTTPHeaders? { head?.headers }
}
