import TestSupport
import Testing

/// The contract of `Transport`, run over every transport in `ContractSubject.all`.
///
/// The name of a test begins with the number of the sentence that it checks. Each test also audits the whole trace of
/// every task that it makes. A transport that violates T4 to T7 in passing is therefore found wherever it does so.
@Suite("Transport contract", .limited)
enum TransportContractTests {}
