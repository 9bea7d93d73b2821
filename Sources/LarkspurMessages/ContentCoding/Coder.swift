package import CLarkspur

/// An open encoder or decoder of a compression library. Only one task may use a coder at a time.
package final class Coder {
    package enum State { case continues, ended, failed(String) }

    private let functions: clarkspur_coder
    private let handle: UnsafeMutableRawPointer

    /// Opens a coder; nil if the system has no memory for the coder.
    package convenience init?(_ functions: clarkspur_coder, format: Int) {
        self.init(functions, opened: functions.open(Int32(format)))
    }

    /// Uses a coder that these functions or a function of the same library have opened.
    package init?(_ functions: clarkspur_coder, opened handle: UnsafeMutableRawPointer?) {
        guard let handle else { return nil }
        self.functions = functions
        self.handle = handle
    }

    deinit { functions.close(handle) }

    /// Encodes or decodes bytes from the start of `input`, and removes these bytes from `input`. Returns the number of
    /// bytes written to `output`, and the coder's state.
    package func run(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isLast: Bool = false
    ) -> (count: Int, state: State) {
        var step = clarkspur_coding_step(
            input: input.baseAddress?.assumingMemoryBound(to: UInt8.self), input_count: input.count,
            output: output.baseAddress?.assumingMemoryBound(to: UInt8.self), output_count: output.count, problem: nil)
        let state = functions.run(handle, &step, isLast)
        input = UnsafeRawBufferPointer(rebasing: input.suffix(step.input_count))
        let count = output.count - step.output_count
        switch state {
        case clarkspur_coding_continues: return (count, .continues)
        case clarkspur_coding_ended: return (count, .ended)
        default: return (count, .failed(step.problem.map { String(cString: $0) } ?? "the library reports no reason"))
        }
    }

    /// Prepares the coder for another stream of the same format. Returns false if a body of this format has only one
    /// stream.
    func reset() -> Bool { functions.reset?(handle) ?? false }
}
