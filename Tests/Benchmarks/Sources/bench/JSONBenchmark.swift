import Larkspur
import Measuring

/// The speed at which a document becomes a value, for `JSON` and for Foundation's parsers.
struct JSONBenchmark {
    let document: Data

    /// Prints megabytes a second, as medians of several rounds in which all parsers alternate, and the medians of the
    /// ratios.
    ///
    /// `JSONDecoder` takes part if the document is that of `.ci/document.py`.
    func run() async throws {
        let decoder = JSONDecoder()
        let isPage = (try? decoder.decode(Page.self, from: document)) != nil
        var larkspur: [Double] = []
        var serialization: [Double] = []
        var decoding: [Double] = []
        for _ in 0..<7 {
            larkspur.append(try await Rate.megabytesASecond(of: document.count) { _ = try JSON(data: document) })
            serialization.append(
                try await Rate.megabytesASecond(of: document.count) {
                    _ = try JSONSerialization.jsonObject(with: document)
                })
            guard isPage else { continue }
            decoding.append(
                try await Rate.megabytesASecond(of: document.count) {
                    _ = try decoder.decode(Page.self, from: document)
                })
        }
        print(
            "scenario=json bytes=\(document.count) larkspur_mbps=\(Rate.median(larkspur))",
            "jsonserialization_mbps=\(Rate.median(serialization))",
            "vs_jsonserialization=\(Rate.median(zip(larkspur, serialization).map { $0 / $1 }))",
            isPage
                ? "jsondecoder_mbps=\(Rate.median(decoding)) vs_jsondecoder=\(Rate.median(zip(larkspur, decoding).map { $0 / $1 }))"
                : "")
    }
}
