import Larkspur
import TestSupport
import Testing

@Suite("Names of secrets", .limited)
struct RedactedNameTests {
    @Test(
        "A name is secret by its words, however they are joined",
        arguments: [
            "device_code", "auth_code", "otp_code", "totp", "mfa_code", "verification_code", "pin_code", "cvv2",
            "card_number", "oauth_verifier", "PHPSESSID", "sessid", "db_pass", "user_pass", "passkey", "pw", "hmac",
            "ticket", "userPassword", "x-db-pass", "cardNumber", "card[number]", "userPIN", "PINCode", "OTPCode",
            "X-User-Pass", "connect.sid", "password2", "pin-2", "dbpass", "backup_codes", "sshKey", "url_sig",
            "user_pw",
            "x-hmac-sha256", "login[code]", "OAuthVerifier", "auth_ticket", "2fa_code", "one_time_code", "APIKey",
            "authtoken", "mySecretThing", "passHash", "auth.token.value", "data.code", "ns:pin",
            "bearer", "X-Bearer", "dpop", "DPoP", "DPoP-Nonce", "pswd", "user_pswd", "userpswd", "passw", "passwort",
            "neuesPasswort", "kennwort", "Kennwörter_kennwort", "mnemonic", "wallet_mnemonic", "seed", "seed_phrase",
            "walletSeed", "data[seed]", "recovery", "recovery_phrase", "recovery-key", "security_answer",
            "securityAnswer2", "pat", "github_pat", "PAT", "pem", "client_pem", "tls.pem", "private", "key[private]",
            "id_tok", "idTok", "access_tok", "refresh_tok", "refresh", "auth.refresh", "nonce", "client_nonce",
            "iban", "IBAN", "customerIban", "ssn", "SSN", "userSsn", "ssnLast4", "social_security_number",
            "x-ms-client-principal", "Key-Pair-Id",
        ])
    func secret(name: String) {
        #expect(Redaction.standard.hides(name))
        #expect(!Redaction.none.hides(name))
    }

    @Test(
        "A name is harmless if a secret's name is only a part of its words, or if it describes a secret",
        arguments: [
            "author", "authors", "authored_by", "authority", "tokenizer", "tokenizer_config", "passenger", "passengers",
            "passport", "passed", "compass", "bypass", "spine", "spin", "opinion", "pinned", "shipping", "pinterest",
            "product_code", "productCode", "product[code]", "product.code", "country_code", "error_code", "status_code",
            "zip_code", "barcode", "encoding", "decoder", "code_name", "keyboard", "monkey", "sort_key", "primary_key",
            "idempotency-key", "public_key", "max_tokens", "prompt_tokens", "total_tokens", "token_count", "token_type",
            "password_length", "pass_rate", "ticket_id", "ticketPrice", "tickets", "ticker", "auth_method", "hotpot",
            "sidebar", "signal", "design", "secretary", "option", "powder", "X-Request-Id", "ETag",
            "patch", "pattern", "path", "patient", "pathname", "private_notes", "is_private", "isPrivate",
            "private_network", "refresh_interval", "refreshRate", "auto_refresh", "refreshed_at", "seeds", "seeders",
            "random_seed", "seedling", "announce", "pronounce", "announcement", "recovery_time", "recovered",
            "disaster_recovery", "ISSN", "issn", "lesson", "security_question", "bearerFormat", "forbearance",
            "bypass_whitelist", "ad_popup", "bandpop", "TikTok", "stock", "policy", "Referrer-Policy", "mnemonics",
            "X-MS-CLIENT-PRINCIPAL-ID", "X-MS-CLIENT-PRINCIPAL-NAME", "Access-Control-Allow-Credentials",
            "temperature", "attempt", "spatial",
        ])
    func harmless(name: String) {
        #expect(!Redaction.standard.hides(name))
    }

    @Test("Added words hide the names that contain them, and no others")
    func words() {
        var redaction = Redaction.standard
        redaction.words.insert("Tax-ID")
        #expect(redaction.hides("customerTaxId") && redaction.hides("tax[id]") && !redaction.hides("syntax_idea"))
        #expect(Redaction(words: ["pin"]).hides("user-pin") && !Redaction(words: ["pin"]).hides("password"))
    }

    @Test("A changed rule applies to names that were looked up before, and a copy keeps its own rules")
    func changes() {
        var redaction = Redaction.standard
        #expect(!redaction.hides("salary") && !redaction.hides("plot") && !redaction.hides("colours"))
        let copy = redaction
        redaction.names.insert("salary")
        redaction.words.insert("plot")
        redaction.fragments.insert("colour")
        #expect(redaction.hides("salary") && redaction.hides("plot") && redaction.hides("colours"))
        #expect(!copy.hides("salary") && !copy.hides("plot") && !copy.hides("colours"))
        #expect(copy == .standard && redaction != .standard)
    }

    @Test("Names that are equal as strings are read by their own scalars")
    func equalNames() {
        let (composed, decomposed) = ("user\u{E9}pin", "usere\u{301}pin")
        #expect(composed == decomposed)
        for _ in 0..<2 { #expect(!Redaction.standard.hides(composed) && Redaction.standard.hides(decomposed)) }
    }

    @Test(
        "A fragment is found anywhere in a name, whatever its characters and its length",
        arguments: [
            ("token", "accesstoken"), ("token", "toktoken2"), ("aa", "bbaa"), ("aab", "aaab"), ("x", "fox"),
            ("straße", "hauptstraßen"), ("tôken", "mytôken"), ("", "any"),
        ])
    func fragments(fragment: String, name: String) {
        let redaction = Redaction(names: ["unrelated"], fragments: [fragment])
        #expect(redaction.hides(name))
        #expect(!Redaction(names: ["unrelated"], fragments: ["qqq"]).hides(name))
    }
}

@Suite("Secrets in texts within bodies", .limited)
struct RedactedTextTests {
    private static let graphQL: [(document: String, shown: String)] = [
        (
            #"mutation { login(user: "ada", password: "s3cret") { token } }"#,
            #"mutation { login(user: "ada", password: "REDACTED") { token } }"#
        ),
        (
            #"mutation M($pin: String = "s3cret", $a: Int) { verify(pin: $pin, pinCode: 5333) { session: id } }"#,
            #"mutation M($pin: String = "REDACTED", $a: Int) { verify(pin: $pin, pinCode: "REDACTED") { session: id } }"#
        ),
        (
            ##"query { me(credentials: {user: "s3cret", list: ["}", "s3cret"]}, page: 2) { name } } # token: s3cret"##,
            ##"query { me(credentials: "REDACTED", page: 2) { name } } # REDACTED"##
        ),
        (
            #"query { a(token # why"# + "\n" + #": """s3"cret\""" """, b: "x\"") { c } }"#,
            #"query { a(token # why"# + "\n" + #": "REDACTED", b: "x\"") { c } }"#
        ),
        (#"query { a(url: "https://h/?token=s3cret") }"#, #"query { a(url: "https://h/?token=REDACTED") }"#),
        (#"query { a(token: "s3cret"#, #"query { a(token: "REDACTED""#),
        ("subscription { a(token: [s3cret", #"subscription { a(token: "REDACTED""#),
        (
            "query { user(id: 7) { author product(code: $code) { code } } }",
            "query { user(id: 7) { author product(code: $code) { code } } }"
        ),
    ]

    private func command(_ body: String, _ type: String) throws -> String {
        let body = Data(body.utf8)
        return OutgoingRequest(
            method: .post, url: try RequestURL("https://h/"), headers: [.contentType(type)], body: .data(body)
        ).cURLDescription()
    }

    @Test("A GraphQL document hides secret arguments, and nothing else", arguments: graphQL.indices)
    func documents(index: Int) throws {
        let (document, shown) = Self.graphQL[index]
        let envelope = JSON.object(["query": .string(document), "variables": ["password": "s3cret", "page": 1]])
        let text = try command(envelope.text(), "application/json")
        let expected = JSON.object(["query": .string(shown), "variables": ["password": "REDACTED", "page": 1]])
        #expect(text.contains("--data-raw '\(expected.text())'"))
        #expect(try command(document, "application/graphql").contains("--data-raw '\(shown)'"))
    }

    @Test(
        "Texts that are JSON or a form, and names beside their values, hide their secrets",
        arguments: [
            (#"{"payload":"{\"pin\":\"s3cret\",\"a\":1}"}"#, #"{"payload":"{\"pin\":\"REDACTED\",\"a\":1}"}"#),
            (#"{"form":"user=ada&password=s3cret"}"#, #"{"form":"user=ada&password=REDACTED"}"#),
            (#"{"xml":"<pin>s3cret</pin>"}"#, #"{"xml":"REDACTED"}"#),
            (#"{"name":"X-Api-Key","value":"s3cret"}"#, #"{"name":"X-Api-Key","value":"REDACTED"}"#),
            (#"{"name":"Accept","value":"shown"}"#, #"{"name":"Accept","value":"shown"}"#),
            (
                #"{"product":{"code":"A1"},"items":[{"code":"B2"}]}"#,
                #"{"product":{"code":"A1"},"items":[{"code":"B2"}]}"#
            ),
            (#"{"data":{"code":"s3cret"}}"#, #"{"data":{"code":"REDACTED"}}"#),
            (#"{"why":"The token: it is wrong"}"#, #"{"why":"The token: it is wrong"}"#),
        ])
    func nested(body: String, shown: String) throws {
        #expect(try command(body, "application/json").contains("--data-raw '\(shown)'"))
    }

    @Test("Nested JSON is hidden if it names a secret, at any depth")
    func deep() throws {
        var json: JSON = ["pin": "s3cret"]
        for _ in 0..<6 { json = ["a": .string(json.text())] }
        #expect(try !command(json.text(), "application/json").contains("s3cret"))
    }

    @Test("A query or form hides secrets of values that are GraphQL or JSON")
    func values() throws {
        let url = try RequestURL(
            #"https://h/?query={login(password:"s3cret")}&variables={"pin":"s3cret"}&filter={"a":1}"#)
        #expect(!url.description.contains("s3cret"))
        #expect(url.description.contains("query=REDACTED&variables=REDACTED&filter={%22a".replacing("{", with: "%7B")))
        #expect(try !command(#"payload={"token":"s3cret"}"#, "application/x-www-form-urlencoded").contains("s3cret"))
    }

    @Test("A text of unknown form is hidden if it gives a value to a short name of a secret")
    func plain() throws {
        #expect(try command("pin=s3cret", "text/plain").contains("REDACTED (10 bytes)"))
        #expect(try command("spin=shown", "text/plain").contains("spin=shown"))
    }
}
