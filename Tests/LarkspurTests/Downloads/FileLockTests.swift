import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Locks of files that are written", .limited)
struct FileLockTests {
    @Test("A file is free again as soon as its owner is gone, even if a forked process still has the descriptor")
    func copied() throws {
        let folder = try TemporaryFolder()
        let path = folder["a"].path
        var owner: WritableFile? = try WritableFile.claim(path)
        #expect(throws: RequestError.self) { try WritableFile.claim(path) }
        // A copy of the descriptor shares the lock, in this process as in a forked one.
        let copies = try descriptors(of: path).map { dup($0) }
        defer { copies.forEach { close($0) } }
        #expect(copies.count == 1)
        withExtendedLifetime(owner) {}
        owner = nil
        #expect(throws: Never.self) { try WritableFile.claim(path) }
    }

    private func descriptors(of path: String) throws -> [Int32] {
        var expected = stat()
        try #require(stat(path, &expected) == 0)
        return (Int32(0)..<getdtablesize()).filter { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_ino == expected.st_ino
                && status.st_dev == expected.st_dev
        }
    }
}
