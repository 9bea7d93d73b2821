import Larkspur

/// Facts about the process, from the kernel.
enum System {
    /// The names of the threads, each with its number.
    static var threads: Set<String> {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return Set(
            numbers.map { number in
                let name = (try? String(contentsOfFile: "/proc/self/task/\(number)/comm", encoding: .utf8)) ?? ""
                return "\(name.prefix { $0 != "\n" }) \(number)"
            })
    }

    /// Returns the mapped files whose names contain one of the texts.
    static func loaded(_ texts: [String]) -> Set<String> {
        let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
        let files = maps.split(separator: "\n").compactMap { $0.split(separator: "/").last.map(String.init) }
        return Set(files.filter { file in texts.contains { file.contains($0) } })
    }
}
