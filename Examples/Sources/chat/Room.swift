import Larkspur
import LarkspurTesting

/// The server's side: passes each line to all other members.
actor Room {
    private var members: [String: MockWebSocket] = [:]
    private var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func serve(_ socket: MockWebSocket) async throws {
        var name: String?
        for await message in socket.messages {
            guard case .text(let text) = message else { continue }
            let line = try JSONDecoder().decode(Chat.Line.self, from: Data(text.utf8))
            if name == nil {
                name = line.from
                join(line.from, socket)
            } else {
                for (other, member) in members where other != name { member.send(text) }
            }
        }
    }

    private func join(_ name: String, _ socket: MockWebSocket) {
        members[name] = socket
        for waiter in waiters where members.count >= waiter.count { waiter.continuation.resume() }
        waiters.removeAll { members.count >= $0.count }
    }

    func waitForMembers(_ count: Int) async {
        if members.count >= count { return }
        await withCheckedContinuation { waiters.append((count, $0)) }
    }

    func drop(_ name: String) { members.removeValue(forKey: name)?.reset() }

    func closeAll() async {
        for member in members.values { member.sendClose(.normal, "the room is closed") }
    }
}
