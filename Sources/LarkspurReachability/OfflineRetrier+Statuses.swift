extension OfflineRetrier: StatusExpecting {
    package func expects(_ status: Int) -> Bool { false }
}
