extension AuthenticationInterceptor: StatusExpecting {
    package func expects(_ status: Int) -> Bool { status == 401 }
}

extension DigestAuthentication: StatusExpecting {
    package func expects(_ status: Int) -> Bool { status == 401 }
}

extension APIKeyAuthentication: KnownRetrier {
    package var asksUsers: Bool { false }
}

extension APIKeyAuthentication: StatusExpecting {
    package func expects(_ status: Int) -> Bool { false }
}
