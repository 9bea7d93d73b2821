internal import CLarkspur

extension CurlTransfer {
    func metrics(of hop: CurlHop) -> TransportMetrics {
        var metrics = TransportMetrics()
        metrics.$queued.nanoseconds = hop.start - hop.submitted
        metrics.$total.nanoseconds = loop.shared.now - hop.start
        metrics.requestBodyBytes = hop.upload?.position ?? (hop.isConnected ? UInt64(hop.post?.count ?? 0) : 0)
        metrics.responseBodyBytes = hop.received
        metrics.protocolName = hop.head.protocolName
        metrics.repetitions = hop.repetitions
        guard hop.isConnected else {
            metrics.$nameLookup.nanoseconds = nanoseconds(CURLINFO_NAMELOOKUP_TIME_T)
            return metrics
        }
        let isReused = clarkspur_easy_long(easy, CURLINFO_NUM_CONNECTS) == 0
        metrics.connectionWasReused = isReused
        if !isReused {
            metrics.$nameLookup.nanoseconds = nanoseconds(CURLINFO_NAMELOOKUP_TIME_T)
            metrics.$connected.nanoseconds = nanoseconds(CURLINFO_CONNECT_TIME_T)
            metrics.$secured.nanoseconds = nanoseconds(CURLINFO_APPCONNECT_TIME_T)
        }
        let (begun, upload) = (nanoseconds(CURLINFO_PRETRANSFER_TIME_T), hop.uploadEnd.map { $0 - hop.uploadStart })
        metrics.$requestSent.nanoseconds = begun == CompactDuration.none ? begun : begun + (upload ?? 0)
        metrics.$firstByte.nanoseconds = nanoseconds(CURLINFO_STARTTRANSFER_TIME_T)
        metrics.tlsVersion = hop.tls.version.map { String(cString: $0) }
        metrics.tlsCipher = hop.tls.cipher.map { loop.cipherName(at: $0) }
        metrics.localAddress = clarkspur_easy_text(easy, CURLINFO_LOCAL_IP).map { String(cString: $0) }
        metrics.remoteAddress = clarkspur_easy_text(easy, CURLINFO_PRIMARY_IP).map { String(cString: $0) }
        return metrics
    }

    /// Returns a time of the transfer in nanoseconds, or `CompactDuration.none` for a step that did not happen.
    private func nanoseconds(_ info: Int32) -> UInt64 {
        let microseconds = clarkspur_easy_offset(easy, info)
        return microseconds > 0 ? UInt64(microseconds) * 1_000 : CompactDuration.none
    }
}

extension CurlLoop {
    /// Returns the name as a string. Most connections have the same cipher, whose string is kept.
    func cipherName(at text: UnsafePointer<CChar>) -> String {
        if text != lastCipher?.text { lastCipher = (text, String(cString: text)) }
        return lastCipher?.name ?? ""
    }
}
