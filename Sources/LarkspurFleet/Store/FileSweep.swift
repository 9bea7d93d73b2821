import Dispatch
import Larkspur
internal import LarkspurAnnex

/// Removes the files of a store's records that have ended. A sweep reads all files, so there is one after as many
/// changes as there are files.
final class FileSweep: Sendable {
    private let root: String
    private let minimum: Int
    private let state: Guarded<(changes: Int, due: Int, isRunning: Bool)>
    private let queue = DispatchQueue(label: "Larkspur store")

    /// - Parameter minimum: The minimum number of changes between two sweeps.
    init(root: String, minimum: Int) {
        (self.root, self.minimum) = (root, minimum)
        state = Guarded((0, minimum, false))
    }

    /// Counts a change. If a sweep is due, calls the closure for each record, on another thread. The closure removes
    /// the record or leaves it.
    func didChange(_ visit: @escaping @Sendable (RecordName, _ path: String) -> Void) {
        let isDue = state.withLock { state in
            state.changes += 1
            guard state.changes >= state.due, !state.isRunning else { return false }
            state.isRunning = true
            return true
        }
        guard isDue else { return }
        queue.async { [self] in
            var count = 0
            for kind in RecordName.Kind.allCases {
                sweep("\(root)/\(kind.rawValue)", kind, [], &count, visit)
            }
            state.withLock { $0 = (0, max(minimum, count), false) }
        }
    }

    private func sweep(
        _ folder: String, _ kind: RecordName.Kind, _ start: [UInt8], _ count: inout Int,
        _ visit: (RecordName, String) -> Void
    ) {
        for file in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let path = "\(folder)/\(file)"
            // A part of a longer name.
            if file.utf8.last == UInt8(ascii: "+") {
                sweep(path, kind, start + file.utf8.dropLast(), &count, visit)
            } else if file.hasSuffix(FileShard.newSuffix) {
                let name = RecordName(kind, escaped: start + file.utf8.dropLast(FileShard.newSuffix.utf8.count))
                if let name { visit(name, path) }
            } else if let name = RecordName(kind, escaped: start + file.utf8) {
                count += 1
                visit(name, path)
            }
        }
    }
}
