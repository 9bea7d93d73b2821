internal import CLarkspur

/// What is registered with the poller for each descriptor, and what libcurl wants of it.
struct CurlSockets {
    private struct Entry {
        var wanted: Int32 = 0
        var registered: Int32 = 0
        /// Opened and closed through us, so that we know when the number stands for another socket.
        var isConnection = false
    }

    private var entries: [Entry] = []

    /// False if the system does not take it.
    mutating func want(
        _ interest: Int32, of descriptor: Int32, poller: UnsafeMutablePointer<clarkspur_poller>
    ) -> Bool {
        let index = place(of: descriptor)
        entries[index].wanted = interest
        // A connection that is wanted no more stays as it is: the next transfer on it wants the same.
        if interest == 0, entries[index].isConnection { return true }
        return register(interest, index, poller)
    }

    /// Whether libcurl waits for this; if nobody does, the poller lets go of the socket, or it would be ready forever.
    mutating func isWanted(_ descriptor: Int32, poller: UnsafeMutablePointer<clarkspur_poller>) -> Bool {
        let index = place(of: descriptor)
        if entries[index].wanted == 0 { register(0, index, poller) }
        return entries[index].wanted != 0
    }

    mutating func didOpen(_ descriptor: Int32) {
        entries[place(of: descriptor)] = Entry(isConnection: true)
    }

    /// The poller is told, because the kernel takes a closed socket from it only when no child process has it either.
    mutating func willClose(_ descriptor: Int32, poller: UnsafeMutablePointer<clarkspur_poller>) {
        let index = place(of: descriptor)
        register(0, index, poller)
        entries[index] = Entry()
    }

    @discardableResult
    private mutating func register(
        _ interest: Int32, _ index: Int, _ poller: UnsafeMutablePointer<clarkspur_poller>
    ) -> Bool {
        let before = entries[index].registered
        guard before != interest else { return true }
        guard clarkspur_poller_watch(poller, Int32(index), before, interest) || interest == 0 else { return false }
        entries[index].registered = interest
        return true
    }

    private mutating func place(of descriptor: Int32) -> Int {
        let index = Int(descriptor)
        while entries.count <= index { entries.append(Entry()) }
        return index
    }
}
