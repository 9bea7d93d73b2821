import CLarkspurFleet
import TestSupport
import Testing

@Suite("The check of a server's replies before they are read", .limited)
struct ReplyScanTests {
    /// Returns why the bytes are refused, and the state after them.
    private func scan(_ text: String, by size: Int = .max) -> (problem: String?, state: clarkspur_reply_scan) {
        var state = clarkspur_reply_scan()
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let part = rest.prefix(size).map { CChar(bitPattern: $0) }
            rest = rest.dropFirst(part.count)
            if let problem = clarkspur_scan_replies(&state, part, part.count) {
                return (String(cString: problem), state)
            }
        }
        return (nil, state)
    }

    private static let whole = [
        "+PONG\r\n", "-ERR no\r\n", ":-7\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "$0\r\n\r\n", "$3\r\n\r\n\n\r\n",
        "*2\r\n$1\r\na\r\n*2\r\n:1\r\n*0\r\n", "+a\rb\nc\r\n", "$10\r\n0123456789\r\n",
        String(repeating: "*1\r\n", count: 32) + "+a\r\n", "*65535\r\n" + String(repeating: "+\r\n", count: 65_535),
    ]

    @Test("Whole replies are accepted, in whatever parts they come", arguments: whole)
    func accepted(text: String) {
        for size in [1, 2, 3, 16_384] {
            let (problem, state) = scan(text + text, by: size)
            #expect(problem == nil)
            #expect(state.bytes == 0 && state.parts == 0 && state.depth == 0 && state.rest == 0 && state.length == 0)
        }
    }

    @Test(
        "Other replies are refused before they take memory or time",
        arguments: [
            "H", "\0", "\r\n", "%1\r\n", "_\r\n", "#t\r\n", "*1\r\n,1.5\r\n", "$\r\n", "$-2\r\n", "$01\r\n", "$1x\r\n",
            "*1 \r\n", "*-10\r\n", "$9999999999999999999999\r\n", "$69206017\r\n", "*1000000000\r\n", "*65537\r\n",
            "*2\r\n*65535\r\n" + String(repeating: "+\r\n", count: 65_535),
            String(repeating: "*1\r\n", count: 33),
        ])
    func refused(text: String) {
        for size in [1, 16_384] { #expect(scan(text, by: size).problem?.hasPrefix("Protocol error") == true) }
    }

    @Test("A line without an end and texts without an end are refused")
    func endless() {
        let part = [CChar](repeating: CChar(bitPattern: UInt8(ascii: "+")), count: 1 << 20)
        for start in ["+", "*65536\r\n$9000000\r\n"] {
            var state = scan(start).state
            var count = 0
            while clarkspur_scan_replies(&state, part, part.count) == nil { count += 1 }
            #expect(count <= 66)
        }
    }
}
