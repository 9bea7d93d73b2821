import Foundation
import TestSupport
import Testing

@testable import LarkspurCache

@Suite("The limit of variants on disk", .limited)
struct DiskVariantsTests {
    private let stage = DiskStage()

    @Test("A URL has at most 32 variants for each party, and the least recently used one goes first")
    func limitOfVariants() async throws {
        let now = Date().timeIntervalSince1970
        func find(_ number: Int) async -> StoredResponse? {
            await stage.find("http://h/a", "", ["accept-language": "l\(number)"])
        }
        func add(_ number: Int) async throws {
            let head = stage.head("http://h/a", "", ["accept-language": "l\(number)"])
            stage.add(head, Data(count: 1))
            await stage.store.settle()
            let name = DiskName(url: "http://h/a", partition: DiskHash.ofNothing)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: now - 1_000 + Double(number))],
                ofItemAtPath: stage.root + "/" + name.entry(DiskSelection(head.selection)))
        }
        for number in 0..<32 {
            try await add(number)
            stage.add(stage.head("http://h/a", "party \(number)", ["accept-language": "en"]), Data(count: 1))
        }
        await stage.store.settle()
        #expect(stage.store.usage.entries == 64 && stage.store.usage.evicted == 0)
        #expect(await find(0) != nil, "a use makes it the newest one")
        for number in 32..<36 { try await add(number) }
        #expect(stage.store.usage.entries == 64 && stage.store.usage.evicted == 4)
        for number in 1...4 { #expect(await find(number) == nil) }
        for number in [0, 5, 31, 32, 35] { #expect(await find(number) != nil) }
        #expect(await stage.find("http://h/a", "party 0", ["accept-language": "en"]) != nil)
    }

    @Test("Cookies alone make variants, too")
    func limitOfCookies() async throws {
        for number in 0..<40 { stage.add(stage.head("http://h/a", "", ["cookie": "a=\(number)"]), Data(count: 1)) }
        await stage.store.settle()
        #expect(stage.store.usage.entries == 32 && stage.store.usage.evicted == 8)
        #expect(await stage.find("http://h/a", "", ["cookie": "a=39"]) != nil)
    }
}
