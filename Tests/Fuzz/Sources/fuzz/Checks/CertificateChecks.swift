import Larkspur

@testable import LarkspurSecurity

/// Checks a certificate in DER or PEM.
func checkCertificates(_ bytes: [UInt8]) throws {
    try checkValues(bytes[...], depth: 0)
    for certificate in (try? Certificate.all(in: Data(bytes))) ?? [] {
        let data = Data(certificate.bytes)
        try require(data.range(of: Data(certificate.publicKey)) != nil, "the key is a part of the certificate")
        for name in [certificate.subject, certificate.issuer, certificate.description] {
            try require(!name.unicodeScalars.contains { $0.properties.generalCategory == .control }, "a name is a line")
        }
        try require(certificate.validFrom.timeIntervalSince1970 < 253_402_300_800, "years have four digits")
        let pin = certificate.pin
        try require(PublicKeyPin(pin.description) == pin, "a pin can be read")
        let pem = ["-----BEGIN CERTIFICATE-----", data.base64EncodedString(), "-----END CERTIFICATE-----"]
        let again = try Certificate.all(in: Data(pem.joined(separator: "\n").utf8))
        try require(again == [certificate], "PEM and DER are the same")
    }
}

/// Checks that values follow each other, and that the values inside a constructed value fill it.
private func checkValues(_ bytes: ArraySlice<UInt8>, depth: Int) throws {
    var reader = DERReader(bytes)
    var end = bytes.startIndex
    while !reader.isAtEnd, let value = try? reader.next() {
        try require(value.encoded.startIndex == end, "values stand one behind the other")
        try require(value.encoded.endIndex <= bytes.endIndex, "a value is among the bytes")
        try require(value.content.endIndex == value.encoded.endIndex, "a value ends with its content")
        end = value.encoded.endIndex
        if value.tag & 0x20 != 0, depth < 32 { try checkValues(value.content, depth: depth + 1) }
    }
}
