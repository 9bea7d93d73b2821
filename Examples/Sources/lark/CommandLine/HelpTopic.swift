/// The topics of `lark --help TOPIC`. Each one fits on a screen.
enum HelpTopic: String, CaseIterable {
    case overview, items, body, request, authentication, tls, output, downloads, streams, measuring, exit

    var title: String {
        switch self {
        case .overview: "How to call lark"
        case .items: "The parts of a request: items"
        case .body: "The body of a request"
        case .request: "URLs, redirects, retries, caches, proxies"
        case .authentication: "Users, tokens and sessions"
        case .tls: "Server trust and client certificates"
        case .output: "What is printed, and how"
        case .downloads: "Downloads"
        case .streams: "Event streams and WebSockets"
        case .measuring: "Repeating and recording"
        case .exit: "Exit codes and errors"
        }
    }

    var text: String {
        switch self {
        case .overview: Self.overviewText
        case .items: Self.itemsText
        case .body:
            """
            A request has a body if the command line has data items, --raw, or if standard input is a pipe or a file. \
            Then the method is POST unless you name one. With data items, or with GET or HEAD, standard input is not read.

                lark example.com/users name=Ada age:=36         JSON
                lark --form example.com/login user=ada          a form
                lark example.com/photos photo@engine.png        a multipart form
                lark PUT example.com/archive @backup.tar        a file
                lark POST example.com/log < today.log           standard input
            """
        case .request:
            """
            A URL may be short: :8080/path is on this machine. Without a scheme, lark uses http on this machine and \
            https elsewhere; --default-scheme, or a whole URL, says otherwise. Secrets of requests are hidden in what lark \
            prints, unless you give --show-secrets. Proxies come from http_proxy, https_proxy and no_proxy, or --proxy.
            """
        case .authentication:
            """
            A user and password are sent to the host of the URL alone, never to the target of a redirect elsewhere. \
            Without a password lark asks for it. A session is a private file in $XDG_CONFIG_HOME/lark/sessions, one for \
            each host and name; a name with a slash is the path of a file.

                lark -a ada:secret example.com
                lark -A bearer -a "$TOKEN" example.com
                lark --session=ada example.com/login user=ada
            """
        case .tls: "Servers must have a certificate of an authority that this system trusts."
        case .output: Self.outputText
        case .downloads:
            """
            The file has the name that the server suggests, or that of --output. It is complete or not there: until then \
            its bytes are in a hidden file beside it. After Ctrl-C or a lost connection, --continue fetches the rest. \
            Without --output, an existing file is never replaced.

                lark --download example.com/archive.zip
                lark --download --continue --output archive.zip example.com/archive.zip
            """
        case .streams: Self.streamsText
        case .measuring:
            """
            --repeat sends the request again and again, and prints statuses, requests in a second, and the latency as \
            percentiles and a histogram. Archives and pages hide secrets.

                lark example.com --repeat 100 -c 8
                lark example.com --follow --har visit.har --waterfall visit.html
                    lark waterfall visit.har [visit.html]
            """
        case .exit: Self.exitText
        }
    }

    private static let overviewText = """
        lark [OPTIONS] [METHOD] URL [ITEM…]

            lark example.com                          GET https://example.com
            lark :8080/users name=Ada age:=36         POST JSON to http://localhost:8080/users
            lark GET example.com page==1 X-Key:abc    a query item and a header
            lark --download example.com/file.zip      a file, with progress
            lark wss://example.com/chat               a WebSocket: lines in, messages out
            lark --offline POST example.com a=1       only print the request

        Topics: lark --help TOPIC
        """

    private static let itemsText = """
            name=Ada          a text of the JSON object or the form
            age:=36           JSON of any kind: numbers, true, null, [1, 2]
            page==1           an item of the URL's query
            X-Key:abc         a header; Accept: without a value removes it, X-Key; sends it empty
            photo@a.png       a file of a multipart form; photo@a.dat;type=image/png names its type
            @a.json           the file as the body
            text=@a.txt       the text of a file; also :=@ for JSON, ==@ and :@

        A backslash takes the meaning from a separator: a\\:b=c is the field “a:b”. After -- there are no options.
        """

    private static let outputText = """
        A terminal shows the response's head and body, with colours and indented JSON. A pipe or a file gets the body \
        alone, byte for byte. --print, --pretty and --output change that; NO_COLOR turns colours off.

        Whatever a server sends, a terminal gets no control characters: they are shown as \\u{1B}. Binary bodies are not \
        shown. JSON keeps its order and its numbers; a body that is not valid JSON is shown as it came.

        --fold=2 replaces what is deeper than two levels by {… 5 members} or [… 100 elements]. --fold alone folds as \
        much as it takes to fit the screen. Nothing is folded otherwise.
        """

    private static let streamsText = """
        text/event-stream is shown event by event, as it comes. JSON lines, and with --stream all lines, are shown line \
        by line. A stream ends with the server or with Ctrl-C.

        With ws:// and wss:// each line of standard input is sent as a message, and messages are printed as they come. \
        After the end of standard input, lark waits for one second without a message, and closes. With --ignore-stdin it \
        only listens.

            lark example.com/events
            echo hello | lark wss://example.com/echo
        """

    private static let exitText =
        ExitCode.allCases.map { "    \($0.rawValue)".padded(to: 8) + $0.meaning }.joined(separator: "\n") + """


            An error is one line on standard error. It says what failed and, if lark knows it, what to do.
            """
}
