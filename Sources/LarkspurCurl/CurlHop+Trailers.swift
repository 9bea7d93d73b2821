internal import CLarkspur

/// Fields that follow a body (T28 and T29 in `Transport`).
extension CurlHop {
    /// Delivers the events that are still pending when the transfer has ended: the head, the body's last bytes and, if
    /// the response is complete, its trailers.
    func deliverRest(after error: TransportError?) {
        deliverPending()
        guard error == nil, let fields = TrailerRules.allowed(inRawFields: chunks?.trailers ?? head.trailers) else {
            return
        }
        delegate.received(.trailers(fields), for: task.id)
    }

    /// Whether the request's trailers are lost, because libcurl sends none over HTTP/2. Stores the error of the hop.
    var hasLostTrailers: Bool {
        guard head.isHTTP2, request.body.hasTrailers else { return false }
        fault = TransportError(
            .unavailable, "libcurl cannot send trailers over HTTP/2, which the server has chosen", phase: .sending)
        return true
    }
}

extension CurlTransfer {
    /// Makes libcurl ask for the fields after the request's body.
    ///
    /// libcurl keeps the state of the trailers in the handle. With a handle that has sent some, libcurl 7.88 crashes at
    /// a later request. The handle is therefore replaced after such a request, and the request uses a fresh connection,
    /// because libcurl itself may repeat requests over reused ones.
    func sendTrailers(of hop: CurlHop) {
        guard hop.request.body.hasTrailers else { return }
        clarkspur_easy_on_trailers(
            easy, { list, this in this.map { CurlTransfer.at($0) { $0.addTrailers(to: list) } } ?? 1 },
            Unmanaged.passUnretained(self).toOpaque())
    }

    /// Makes libcurl look at an HTTP/2 stream whose response has ended before the request's body. Older versions do not
    /// notice the stream's end otherwise: they look at a stream when bytes have come, and this one ends when libcurl
    /// has sent the body's end.
    func lookAtEnd(of hop: CurlHop) {
        guard hop.head.isHTTP2, !hop.isBodyPaused else { return }
        let upload = hop.uploadFlow == .running ? 0 : CURLPAUSE_SEND
        for directions in [CURLPAUSE_RECV, 0] { clarkspur_easy_pause(easy, directions | upload) }
        // libcurl sends the end of a refused body by itself, later if the connection takes no more bytes now.
        if hop.isRefused { loop.setAlarm(min(hop.deadline.time, loop.now + Self.timeBetweenLooks), for: slot) }
    }

    private static var timeBetweenLooks: CurlClock.Instant { 100_000_000 }

    /// Adds the fields to libcurl's list. Returns 0, or 1 to end the transfer.
    private func addTrailers(to list: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) -> Int32 {
        guard let hop, let upload = hop.upload else { return 1 }
        for field in upload.takeTrailers() {
            let isAdded = clarkspur_list_append(list, "\(field.name): \(field.value)")
            guard let problem = TrailerRules.problem(with: field) ?? (isAdded ? nil : "there is no memory") else {
                continue
            }
            hop.fault = .bodyFailed(problem)
            return 1
        }
        return 0
    }
}
