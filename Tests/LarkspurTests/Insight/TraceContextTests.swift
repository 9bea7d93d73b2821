import Larkspur
import LarkspurInsight
import TestSupport
import Testing

@Suite("Trace contexts", .limited)
struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test(
        "Valid values of traceparent",
        arguments: [
            ("00-\(trace)-\(span)-01", true), ("00-\(trace)-\(span)-00", false), ("00-\(trace)-\(span)-ff", true),
            ("00-\(trace)-\(span)-02", false), ("01-\(trace)-\(span)-01", true), ("cc-\(trace)-\(span)-01-what", true),
            ("cc-\(trace)-\(span)-01-", true), ("fe-\(trace)-\(span)-03-a-b", true),
        ])
    func valid(text: String, isSampled: Bool) throws {
        let context = try #require(TraceContext(traceparent: text))
        #expect(context.traceID.description == Self.trace)
        #expect(context.spanID.description == Self.span)
        #expect(context.isSampled == isSampled)
        #expect(context.traceparent == "00-\(Self.trace)-\(Self.span)-\(isSampled ? "01" : "00")")
    }

    @Test(
        "Invalid values of traceparent",
        arguments: [
            "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-",
            "00-\(trace)-\(span)-01-x",
            "00-\(trace)-\(span)-0x", "ff-\(trace)-\(span)-01", "ff-\(trace)-\(span)-01-x", "01-\(trace)-\(span)-01x",
            "01-\(trace)-\(span)-01.what", "0-\(trace)-\(span)-01", "0X-\(trace)-\(span)-01", "00_\(trace)-\(span)-01",
            "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span.uppercased())-01", "00-\(trace)-\(span)-0A",
            "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
            "00-\(trace)-\(span) -01",
            " 00-\(trace)-\(span)-01", "00-\(trace)-\(span)-01 ", "00-\(trace)g-\(span.dropLast())-01",
            "00-\(trace)-\(span)-٠١", "00--\(trace)-\(span)-1",
        ])
    func invalid(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test("Two traceparent fields are none, and several tracestate fields are one list")
    func fields() throws {
        let parent = "00-\(Self.trace)-\(Self.span)-01"
        var headers: HTTPHeaders = ["Traceparent": parent]
        headers.add(name: "TraceState", value: "a=1, b=2")
        headers.add(name: "tracestate", value: "c=3")
        let context = try #require(TraceContext(headers))
        #expect(context.state.description == "a=1,b=2,c=3")
        #expect(context.headers.map(\.line) == ["traceparent: \(parent)", "tracestate: a=1,b=2,c=3"])
        headers.add(name: "traceparent", value: parent)
        #expect(TraceContext(headers) == nil)
        #expect(TraceContext([:]) == nil)
        let noState = try #require(TraceContext(traceparent: parent, tracestate: "A=1"))
        #expect(noState.headers.count == 1)
    }

    @Test(
        "Valid values of tracestate",
        arguments: [
            ("", ""), (" , ,", ""), ("a=1", "a=1"), ("a=1 ,\tb=2", "a=1,b=2"), ("a=1,a=2,b=3", "a=1,b=3"),
            ("a-b*c/d_0=x y!~", "a-b*c/d_0=x y!~"), ("0tenant@sys=1", "0tenant@sys=1"), ("a= 1", "a= 1"),
            ("a=1,,b=2", "a=1,b=2"),
            (String(repeating: "k", count: 256) + "=1", String(repeating: "k", count: 256) + "=1"),
            ("a=" + String(repeating: "v", count: 256), "a=" + String(repeating: "v", count: 256)),
        ])
    func validState(text: String, expected: String) {
        #expect(TraceState(text)?.description == expected)
    }

    @Test(
        "Invalid values of tracestate",
        arguments: [
            "a", "=1", "a=", "a=1=2", "A=1", "0a=1", "a b=1", "a=1\u{7F}", "a=é", "é=1", "@a=1", "a@=1", "a@0=1",
            "a@b@c=1",
            "a =1", String(repeating: "k", count: 257) + "=1", "a=" + String(repeating: "v", count: 257),
            String(repeating: "t", count: 242) + "@s=1", "t@" + String(repeating: "s", count: 15) + "=1",
            (0..<33).map { "k\($0)=1" }.joined(separator: ","),
        ])
    func invalidState(text: String) {
        #expect(TraceState(text) == nil)
    }

    @Test("A list of 32 members is valid; a change moves a member to the front and drops the last of a full list")
    func update() throws {
        var state = try #require(TraceState((0..<32).map { "k\($0)=\($0)" }.joined(separator: ",")))
        #expect(state.count == 32)
        var isChanged = state.update("k5", to: "new")
        #expect(isChanged && state.count == 32 && state.description.hasPrefix("k5=new,k0=0,"))
        isChanged = state.update("app", to: "1")
        #expect(isChanged && state.count == 32 && state["k31"] == nil && state["app"] == "1")
        for (key, value) in [("App", "1"), ("app", "a,b"), ("app", ""), ("", "1"), ("app", "1 ")] {
            isChanged = state.update(key, to: value)
            #expect(!isChanged && state["app"] == "1")
        }
    }

    @Test("A field has at most 512 bytes: long members are left out first, then the last ones")
    func length() throws {
        let long = "long=" + String(repeating: "v", count: 200)
        let short = (10..<40).map { "k\($0)=" + String(repeating: "v", count: 10) }
        let text = (short.prefix(15) + [long] + short.dropFirst(15)).joined(separator: ",")
        let description = try #require(TraceState(text)).description
        #expect(description.utf8.count <= 512)
        #expect(!description.contains("long"))
        #expect(description == short.joined(separator: ","))
        let many = try #require(
            TraceState((10..<40).map { "k\($0)=" + String(repeating: "v", count: 20) }.joined(separator: ",")))
        #expect(many.description.hasPrefix("k10=") && !many.description.contains("k39"))
        #expect(many.description.utf8.count <= 512 && many.description.utf8.count > 480)
    }

    @Test("Random identifiers are valid and differ, and a child differs in its span alone")
    func random() throws {
        let root = TraceContext.root()
        #expect(TraceContext(traceparent: root.traceparent) == root)
        #expect(root.isSampled && !TraceContext.root(isSampled: false).isSampled)
        #expect(root.traceID != TraceContext.root().traceID)
        var child = root.child()
        #expect(child.spanID != root.spanID)
        child.spanID = root.spanID
        #expect(child == root)
        #expect(TraceContext.TraceID("abc") == nil && TraceContext.SpanID("00000000000000AB") == nil)
    }
}
