import Larkspur

extension Option {
    /// All options, in the order of the help.
    static var table: [Option] { body + exchange + authentication + tls + output + transfers + measurements + other }

    private static var body: [Option] {
        [
            Option("--json -j", .body, "Send the items as JSON (the default).", \.bodyKind, .json),
            Option("--form -f", .body, "Send the items as a form.", \.bodyKind, .form),
            Option("--multipart", .body, "Send the items as a multipart form.", \.bodyKind, .multipart),
            Option("--raw", "TEXT", .body, "Send this text as the body.", \.rawBody),
            Option("--ignore-stdin -I", .body, "Do not read standard input.", \.ignoresInput, true),
            Option("--chunked", .body, "Send standard input while it is read.", \.isChunked, true),
            Option("--compress -x", .body, "Compress the body with gzip.", \.compresses, true),
        ]
    }

    private static var exchange: [Option] {
        [
            Option("--default-scheme", "SCHEME", .request, "The scheme of URLs without one.", \.defaultScheme),
            Option("--follow -F", .request, "Follow redirects.", \.follows, true),
            Option("--max-redirects", .required("N"), .request, "Follow at most N redirects; 30 by default.") {
                $0.maximumRedirects = try number($1, of: "--max-redirects")
                $0.follows = true
            },
            Option("--timeout", .required("SECONDS"), .request, "End the whole exchange after this time.") {
                $0.timeout = try seconds($1, of: "--timeout")
            },
            Option("--retry", .required("N"), .request, "Try again, up to N times (lost connections, 503, …).") {
                $0.retries = try number($1, of: "--retry")
            },
            Option("--cache", "FOLDER", .request, "Keep and use responses as RFC 9111 allows.", \.cacheFolder),
            Option(
                "--check-status", .request, "Exit with 3, 4 or 5 for a status 3xx, 4xx or 5xx.", \.checksStatus, true),
            Option("--proxy", .required("URL"), .request, "Connect through this proxy; http:URL, https:URL for one.") {
                $0.proxies.append($1)
            },
            Option("--http1.1", .request, "Use HTTP/1.1.", \.httpVersion, .http1),
            Option("--http2", .request, "Use HTTP/2.", \.httpVersion, .http2),
            Option("--http3", .request, "Use HTTP/3.", \.httpVersion, .http3),
            Option("--offline", .request, "Print the request, and do not send it.", \.isOffline, true),
            Option("--curl", .request, "Print the request as a command for curl; send nothing.", \.printsCommand, true),
            Option("--show-secrets", .request, "Do not hide secrets of requests.", \.showsSecrets, true),
        ]
    }

    private static var authentication: [Option] {
        [
            Option(
                "--auth -a", "USER:PASSWORD", .authentication, "The user and password, or the token.", \.authentication),
            Option("--auth-type -A", .required("KIND"), .authentication, "basic (the default), digest or bearer.") {
                $0.authenticationKind = try choice($1, of: "--auth-type", among: [.basic, .digest, .bearer])
            },
            Option("--session", "NAME", .authentication, "Keep cookies, headers and --auth for this host.", \.session),
            Option("--session-read-only", .required("NAME"), .authentication, "The same, without writing.") {
                $0.session = $1
                $0.sessionIsReadOnly = true
            },
        ]
    }

    private static var tls: [Option] {
        [
            Option("--verify", .required("no|CA"), .tls, "no: trust any server; else a PEM file of authorities.") {
                $0.verify = $1
            },
            Option("--cert", "FILE", .tls, "The client certificate, in PEM.", \.certificate),
            Option("--key", "FILE", .tls, "The private key, if --cert does not have it.", \.key),
            Option("--key-password", .required("TEXT"), .tls, "The password of the private key.") {
                $0.keyPassword = $1
            },
        ]
    }

    private static var output: [Option] {
        [
            Option("--print -p", .required("HBhbm"), .output, "What to print: request H B, response h b, times m.") {
                guard $1.allSatisfy("HBhbm".contains) else {
                    throw UsageError("--print needs letters of HBhbm, not “\($1)”")
                }
                $0.printed = Set($1)
            },
            Option("--verbose -v", .output, "The same as --print=HBhb.", \.printed, Set("HBhb")),
            Option("--headers -h", .output, "The same as --print=h.", \.printed, ["h"]),
            Option("--body -b", .output, "The same as --print=b.", \.printed, ["b"]),
            Option("--meta -m", .output, "The same as --print=m.", \.printed, ["m"]),
            Option("--quiet -q", .output, "Print nothing but errors.", \.printed, []),
            Option("--all", .output, "Print redirects that are followed, too.", \.showsAll, true),
            Option("--pretty", .required("WHAT"), .output, "all, colors, format or none.") {
                $0.pretty = try choice($1, of: "--pretty", among: [.all, .colors, .format, .none])
            },
            Option("--fold", .optional("DEPTH"), .output, "Fold JSON below this depth; without it, to fit the screen.")
            {
                $0.folding = $1.isEmpty ? .toScreen : .below(depth: try number($1, of: "--fold", from: 1))
            },
            Option("--stream -S", .output, "Print each line when it arrives.", \.streams, true),
            Option("--output -o", "FILE", .output, "Write to this file.", \.output),
        ]
    }

    private static var transfers: [Option] {
        [
            Option("--download -d", .downloads, "Save the body as a file.", \.downloads, true),
            Option("--continue", .downloads, "Fetch the rest of an interrupted download.", \.continues, true),
        ]
    }

    private static var measurements: [Option] {
        [
            Option("--repeat", .required("N"), .measuring, "Send the request N times, and print a histogram.") {
                $0.repetitions = try number($1, of: "--repeat", from: 1)
            },
            Option("--concurrency -c", .required("C"), .measuring, "Requests at once, with --repeat.") {
                $0.concurrency = try number($1, of: "--concurrency", from: 1)
            },
            Option("--har", "FILE", .measuring, "Record the exchange as an HTTP Archive.", \.archive),
            Option("--waterfall", "FILE", .measuring, "Draw the exchange as an HTML page.", \.waterfall),
        ]
    }

    private static var other: [Option] {
        [
            Option("--help", .optional("TOPIC"), .overview, "This text, or the text of a topic.") {
                $0.command = .help(topic: $1.isEmpty ? nil : $1)
            },
            Option("--version", .overview, "The versions of lark and its libraries.", \.command, .version),
        ]
    }
}
