internal import CLarkspur

/// A connection that libcurl has made and that the transport itself reads and writes (`CURLOPT_CONNECT_ONLY`).
///
/// The easy handle stays in the multi handle, because libcurl closes the connection when the handle is removed. The
/// first call of libcurl's functions attaches the connection to its handle. From then on, libcurl does not take the
/// connection for an idle one, which it might close when another transfer starts.
struct CurlWire {
    enum Result { case bytes(Int), wouldBlock, lost }

    let easy: UnsafeMutableRawPointer
    let descriptor: Int32
    /// Whether the bytes are those of the socket, without TLS. The socket is then used without libcurl, which searches
    /// all its connections at each call.
    let isPlain: Bool

    /// Returns nil if libcurl has no connection.
    init?(_ easy: UnsafeMutableRawPointer, isPlain: Bool) {
        descriptor = clarkspur_easy_socket(easy)
        guard descriptor >= 0 else { return nil }
        self.easy = easy
        self.isPlain = isPlain
        var byte: UInt8 = 0
        _ = clarkspur_easy_receive(easy, &byte, 0)  // attaches the connection
    }

    /// Sends bytes. If it would block, the next call must have the same bytes at the same address.
    func send(_ bytes: UnsafeRawBufferPointer) -> Result {
        result(
            isPlain
                ? clarkspur_socket_send(descriptor, bytes.baseAddress, bytes.count)
                : clarkspur_easy_send(easy, bytes.baseAddress, bytes.count))
    }

    /// Receives bytes. No bytes are the end of the peer's side.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Result {
        result(
            isPlain
                ? clarkspur_socket_receive(descriptor, buffer.baseAddress, buffer.count)
                : clarkspur_easy_receive(easy, buffer.baseAddress, buffer.count))
    }

    private func result(_ count: Int) -> Result {
        switch count {
        case Int(clarkspur_would_block): .wouldBlock
        case Int(clarkspur_lost): .lost
        default: .bytes(count)
        }
    }

}
