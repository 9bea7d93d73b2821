internal import CLarkspur

/// Connections that have left HTTP. Only the thread that has the turn calls these functions.
extension CurlLoop {
    /// Sets libcurl's limit for connections, which counts idle connections and connections in use together. Without the
    /// connections in use, libcurl would close an idle connection for each of them.
    func limitConnections() {
        let kept = transfers.count + tunnels.count + shared.idleConnections(of: index)
        clarkspur_multi_set_long(multi, CURLMOPT_MAXCONNECTS, kept)
    }

    /// Hands the connection of a transfer's hop over to a tunnel, and frees the transfer.
    func open(_ hop: CurlHop, _ wire: CurlWire, _ held: Data, _ metrics: TransportMetrics, of transfer: CurlTransfer) {
        let tunnel = tunnels.add {
            CurlTunnel($0, hop.task, hop.delegate, wire, held, metrics, start: hop.start, loop: self)
        }
        _ = hop.task.record(.open(tunnel.slot))
        free.append(transfer.slot)
        limitConnections()
        shared.origins.withLock { $0.countUpgraded(1, in: index) }
        leave(hop.place)
        tunnel.begin()
    }

    /// Removes the easy handle of a connection from the multi handle, and closes the connection. Some versions of
    /// libcurl, such as 7.74, keep such a connection until they look for dead ones.
    func remove(_ wire: CurlWire) {
        _ = watch(wire.descriptor, for: 0, by: .libcurl)
        clarkspur_multi_remove(multi, wire.easy)
        if sockets.isOpen(wire.descriptor) { shutdown(wire.descriptor, Int32(SHUT_RDWR)) }
    }

    /// Releases a tunnel that has ended.
    func didEnd(_ tunnel: CurlTunnel) {
        tunnels.remove(tunnel)
        shared.origins.withLock { $0.countUpgraded(-1, in: index) }
        limitConnections()
    }

    func watch(_ descriptor: Int32, for interest: Int32, by user: CurlSockets.User) -> Bool {
        sockets.want(interest, of: descriptor, by: user, poller: poller)
    }
}
