import Foundation

private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<Arguments>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The fuzzer that the first argument names; libFuzzer receives the other arguments. libFuzzer restarts the process for
/// some tasks with its own arguments, so the name is passed on in the environment.
private let fuzzer = ProcessInfo.processInfo.environment["LARKSPUR_FUZZER"].flatMap(Fuzzer.init)

/// The entry point for the linker: with libFuzzer's coverage the compiler generates no `main`.
@_cdecl("fuzz_main")
func main(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt {
    var (count, arguments) = (count, arguments)
    if count > 1, let name = arguments[1], Fuzzer(rawValue: String(cString: name)) != nil {
        setenv("LARKSPUR_FUZZER", name, 1)
        arguments[1] = arguments[0]
        (count, arguments) = (count - 1, arguments + 1)
    }
    guard fuzzer != nil else {
        let names = Fuzzer.allCases.map(\.rawValue).joined(separator: "|")
        print("usage: fuzz \(names) [OPTIONS OF LIBFUZZER] [CORPUS...]")
        return 2
    }
    return runDriver(&count, &arguments) { bytes, count in
        do {
            try fuzzer?.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
        } catch let violation as Violation {
            fatalError("a rule is broken: \(violation.rule)")
        } catch {
            fatalError("a check failed: \(error)")
        }
        return 0
    }
}
