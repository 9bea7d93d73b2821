/// The delegate of a `URLSession`. It passes each event on to the hop of its task.
///
/// The session calls it on a serial queue. The hop's own state decides what an event means: an event of a hop that has
/// ended changes nothing.
final class URLSessionEvents: NSObject, URLSessionDataDelegate {
    private let hops = Protected<[Int: URLSessionHop]>([:])

    func add(_ hop: URLSessionHop, for task: URLSessionTask) {
        hops.withLock { $0[task.taskIdentifier] = hop }
    }

    func hop(of task: URLSessionTask) -> URLSessionHop? {
        hops.withLock { $0[task.taskIdentifier] }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        let left = hops.withLock { hops in
            defer { hops = [:] }
            return Array(hops.values)
        }
        for hop in left { hop.end(TransportError(.other, "URLSession has ended", underlying: error)) }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse { hop(of: dataTask)?.didReceive(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        hop(of: dataTask)?.didReceive(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        hop(of: task)?.didSend(UInt64(max(0, totalBytesSent)))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The response of the redirect is delivered (T2). A WebSocket's task reports it here only.
        if let hop = hop(of: task), hop.translator != nil { hop.didComplete(nil, response) }
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(hop(of: task)?.openBodyAgain())
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let hop = hops.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        hop?.didComplete(error, task.response as? HTTPURLResponse)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(Darwin)
            guard let hop = hop(of: task) else { return completionHandler(.cancelAuthenticationChallenge, nil) }
            let (disposition, credential) = hop.answer(challenge)
            completionHandler(disposition, credential)
        #else
            // Foundation asks about a 401 whose body has arrived. With the default handling the task would not end,
            // and `.useCredential` without a credential would end the process.
            hop(of: task)?.didComplete(nil)
            completionHandler(.cancelAuthenticationChallenge, nil)
        #endif
    }

    #if canImport(Darwin)
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            if let transaction = metrics.transactionMetrics.last { hop(of: task)?.didMeasure(transaction) }
        }

        func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
            hop(of: task)?.isWaitingForConnectivity()
        }
    #endif
}
