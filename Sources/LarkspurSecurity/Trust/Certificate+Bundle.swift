#if Foundation || canImport(Darwin)
    extension Certificate {
        /// Returns the certificates among the resources of a bundle, like ``all(inFolder:)``.
        ///
        ///     let evaluator = PinnedCertificatesTrustEvaluator(try Certificate.all(in: .main))
        ///
        /// - Parameters:
        ///   - bundle: The bundle, such as `.main` or `.module`.
        ///   - subdirectory: The folder within the resources; nil, the default, means the resources' own folder.
        public static func all(in bundle: Bundle, subdirectory: String? = nil) throws(RequestError) -> [Certificate] {
            guard let resources = bundle.resourceURL else {
                throw RequestError(
                    .fileMissing, "the bundle \(bundle.bundlePath) has no folder of resources, and so no certificates")
            }
            return try all(inFolder: subdirectory.map { resources.appendingPathComponent($0) } ?? resources)
        }
    }
#endif
