import Larkspur

extension EventRecorder: StatusExpecting {
    package func expects(_ status: Int) -> Bool { false }
}
