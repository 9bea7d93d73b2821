import Larkspur
import Measuring

/// The speed at which a document becomes a value and a value becomes a document, for this library and for Foundation.
struct JSONBenchmark {
    let bytes: Data

    /// Prints megabytes a second, as medians of several rounds in which all parsers alternate, and the medians of the
    /// ratios.
    ///
    /// `JSON.Decoder`, `JSON.Encoder` and their counterparts take part if the document is that of `.ci/data/document.py`.
    func run() async throws {
        let decoder = JSONDecoder()
        let page = try? decoder.decode(Page.self, from: bytes)
        var larkspur: [Double] = []
        var serialization: [Double] = []
        var decoding: [Double] = []
        var document: [Double] = []
        var fastDecoding: [Double] = []
        var encoding: [Double] = []
        var fastEncoding: [Double] = []
        let fastDecoder = JSON.Decoder()
        let (encoder, fastEncoder) = (JSONEncoder(), JSON.Encoder())
        for _ in 0..<7 {
            larkspur.append(try await Rate.megabytesASecond(of: bytes.count) { _ = try JSON(data: bytes) })
            serialization.append(
                try await Rate.megabytesASecond(of: bytes.count) {
                    _ = try JSONSerialization.jsonObject(with: bytes)
                })
            document.append(
                try await Rate.megabytesASecond(of: bytes.count) { _ = try JSON.Document(data: bytes) })
            guard let page else { continue }
            fastDecoding.append(
                try await Rate.megabytesASecond(of: bytes.count) {
                    _ = try fastDecoder.decode(Page.self, from: bytes)
                })
            decoding.append(
                try await Rate.megabytesASecond(of: bytes.count) {
                    _ = try decoder.decode(Page.self, from: bytes)
                })
            fastEncoding.append(
                try await Rate.megabytesASecond(of: bytes.count) { _ = try fastEncoder.encode(page) })
            encoding.append(
                try await Rate.megabytesASecond(of: bytes.count) { _ = try encoder.encode(page) })
        }
        print(
            "scenario=json bytes=\(bytes.count) larkspur_mbps=\(Rate.median(larkspur))",
            "jsonserialization_mbps=\(Rate.median(serialization))",
            "vs_jsonserialization=\(Rate.median(zip(larkspur, serialization).map { $0 / $1 }))",
            "document_mbps=\(Rate.median(document))",
            page != nil
                ? "decoder_mbps=\(Rate.median(fastDecoding)) jsondecoder_mbps=\(Rate.median(decoding)) "
                    + "decoder_vs_jsondecoder=\(Rate.median(zip(fastDecoding, decoding).map { $0 / $1 })) "
                    + "vs_jsondecoder=\(Rate.median(zip(larkspur, decoding).map { $0 / $1 })) "
                    + "encoder_mbps=\(Rate.median(fastEncoding)) jsonencoder_mbps=\(Rate.median(encoding)) "
                    + "encoder_vs_jsonencoder=\(Rate.median(zip(fastEncoding, encoding).map { $0 / $1 }))"
                : "")
    }
}
