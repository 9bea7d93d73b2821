extension OfflineRetrier: StatusExpecting {
    package func expects(_ status: Int) -> Bool { false }
}

extension OfflineRetrier: PromptAdapter {
    package var asksUsers: Bool { false }

    package func isPrompt(for request: OutgoingRequest, of core: RequestCore) -> Bool {
        policy.isPrompt(for: request, of: core)
    }

    package func adaptNow(_ request: inout OutgoingRequest, of core: RequestCore) {
        policy.adaptNow(&request, of: core)
    }
}
