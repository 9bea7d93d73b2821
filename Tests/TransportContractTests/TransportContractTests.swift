import Testing

/// The contract of `Transport`, run over every transport in `ContractSubject.all`.
///
/// A test's name begins with the number of the sentence that it holds a transport to. Each test also audits the whole
/// trace of every task it makes, so a transport that breaks T4 to T7 on the side is seen wherever it does so.
@Suite("Transport contract", .timeLimit(.minutes(3)))
enum TransportContractTests {}
