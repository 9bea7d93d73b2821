import Foundation
import LarkspurXML
import TestSupport
import Testing

@Suite("The XML value", .limited)
struct XMLTests {
    private let feed = try? XML(
        text: """
            <?xml version="1.0"?>
            <!-- before -->
            <feed xmlns="urn:atom" xmlns:m="urn:media" xml:lang="en" id="f">
              <title>News <b>of</b><!-- not this --> the <![CDATA[<day>]]></title>
              <entry id="1"><title>One</title><link href="/1"/><m:title m:lang="de">Eins</m:title></entry>
              <entry id="2"><m:title>Zwei</m:title><title xmlns="">Two</title></entry>
            </feed>
            """)

    @Test("A path leads to the first element of each name, and its text includes its descendants")
    func paths() throws {
        let feed = try #require(feed)
        #expect(feed.name.local == "feed" && feed.name.namespace == "urn:atom" && feed.name.prefix == "")
        #expect(feed["title"].text == "News of the <day>")
        #expect(feed["entry"]["title"].text == "One")
        #expect(feed["entry"]["link"].attribute("href") == "/1")
        #expect(feed.children(named: "entry").map { $0.attribute("id") } == ["1", "2"])
        #expect(feed.elements.map(\.name.local) == ["title", "entry", "entry"])
        #expect(
            feed["title"].children == [
                .text("News "), .element(feed["title"]["b"]), .comment(" not this "), .text(" the <day>"),
            ])
    }

    @Test("Names are found in any namespace, or in a given one")
    func namespaces() throws {
        let entries = try #require(feed).children(named: "entry")
        #expect(entries[1]["title"].text == "Zwei")
        #expect(entries[1]["title", in: "urn:media"].text == "Zwei")
        #expect(entries[1]["title", in: ""].text == "Two")
        #expect(entries[1]["title", in: "urn:atom"].isMissing)
        #expect(entries[0].children(named: "title").map(\.text) == ["One", "Eins"])
        #expect(entries[0].children(named: "title", in: "urn:media").map(\.name.description) == ["m:title"])
    }

    @Test("An attribute has the namespace of its prefix, and none without a prefix")
    func attributes() throws {
        let feed = try #require(feed)
        #expect(feed.attribute("id") == "f" && feed.attribute("id", in: "urn:atom") == nil)
        #expect(feed.attribute("lang") == nil)
        #expect(feed.attribute("lang", in: "http://www.w3.org/XML/1998/namespace") == "en")
        #expect(feed["entry"]["title", in: "urn:media"].attribute("lang", in: "urn:media") == "de")
        #expect(feed.attribute("m", in: "http://www.w3.org/2000/xmlns/") == "urn:media")
        #expect(feed.attributes.map(\.name.description) == ["xmlns", "xmlns:m", "xml:lang", "id"])
    }

    @Test("A missing path is an empty element")
    func missing() throws {
        let feed = try #require(feed)
        for missing in [feed["x"], feed["x"]["y"], feed["Title"], feed["id"], feed[""], feed["entry"]["link"]["z"]] {
            #expect(missing.isMissing && missing.text == "" && missing.description == "")
            #expect(missing.attribute("id") == nil && missing.attribute("") == nil)
            #expect(missing.elements.isEmpty && missing.children(named: "x").isEmpty)
        }
        #expect(!feed["entry"]["link"].isMissing && feed["entry"]["link"].text == "")
    }

    @Test("A part of a document is written with the outer declarations that it needs, and with no others")
    func parts() throws {
        let feed = try #require(feed)
        let entry = feed["entry"].description
        #expect(
            entry == "<entry xmlns=\"urn:atom\" xmlns:m=\"urn:media\" id=\"1\"><title>One</title>"
                + "<link href=\"/1\"/><m:title m:lang=\"de\">Eins</m:title></entry>")
        #expect(feed["title"]["b"].description == "<b xmlns=\"urn:atom\">of</b>")
        let two = feed.children(named: "entry")[1]
        #expect(two["title", in: ""].description == "<title xmlns=\"\">Two</title>")
        let read = try XML(text: two.description)
        #expect(read["title", in: "urn:media"].text == "Zwei" && read["title", in: ""].text == "Two")
        #expect(read.description == two.description)
        let root = try XML(
            text: "<p:a xmlns:p='1' xmlns='0'><p:b><p:c xmlns:p='2' xmlns=''><d/></p:c><e p:f='&lt;'/></p:b></p:a>")
        #expect(
            root["b"].description == "<p:b xmlns:p=\"1\" xmlns=\"0\">"
                + "<p:c xmlns:p=\"2\" xmlns=\"\"><d/></p:c><e p:f=\"&lt;\"/></p:b>")
    }

    @Test("Values with equal text are equal")
    func equality() throws {
        let value = try XML(text: "<a b='1'>x</a>")
        #expect(try XML(text: "<a  b = \"1\" ><![CDATA[x]]></a>") == value)
        for other in ["<a b='2'>x</a>", "<a>x</a>", "<a b='1'>y</a>", "<c b='1'>x</c>", "<a b='1' xmlns='u'>x</a>"] {
            #expect(try XML(text: other) != value)
        }
    }
}

@Suite("The XML event parser", .limited)
struct XMLEventParserTests {
    private func events(_ text: String) throws -> [XML.Event] {
        var parser = try XMLEventParser(data: Data(text.utf8))
        var events: [XML.Event] = []
        while let event = try parser.next() { events.append(event) }
        #expect(try parser.next() == nil)
        return events
    }

    @Test("Events come in the order of the document, also outside the outermost element")
    func order() throws {
        let events = try events(
            "<?xml version='1.0'?><!DOCTYPE a> <!--1--><?do it?><a x='&lt;'> <b/>t&amp;<![CDATA[u]]>\n</a> <!--2-->")
        try #require(events.count == 9)
        #expect(events[0] == .comment("1") && events[1] == .instruction(target: "do", "it"))
        guard case .start(let a, let attributes) = events[2], case .start(let b, _) = events[4] else {
            Issue.record("there should be two elements")
            return
        }
        #expect(a.local == "a" && attributes.map(\.name.local) == ["x"] && attributes.map(\.value) == ["<"])
        #expect(b.local == "b" && events[5] == .end(b) && events[7] == .end(a))
        #expect(events[3] == .text(" ") && events[6] == .text("t&u\n") && events[8] == .comment("2"))
    }

    @Test("Events before an error are returned, and after it only the error")
    func fault() throws {
        var parser = try XMLEventParser(data: Data("<a>x</b>".utf8))
        guard case .start = try parser.next() else {
            Issue.record("there should be an element")
            return
        }
        #expect(try parser.next() == .text("x"))
        for _ in 0..<3 {
            #expect { try parser.next() } throws: { ($0 as? XMLError)?.reason == .mismatchedTag }
        }
    }

    @Test("A redeclared namespace is restored after the element, also after an empty tag")
    func scopes() throws {
        let events = try events(
            "<p:a xmlns:p='1'><p:b xmlns:p='2'/><p:c><p:d xmlns:p='3'><p:e/></p:d></p:c><p:f/></p:a>")
        let starts = events.compactMap { if case .start(let name, _) = $0 { name.local + name.namespace } else { nil } }
        let ends = events.compactMap { if case .end(let name) = $0 { name.local + name.namespace } else { nil } }
        #expect(starts == ["a1", "b2", "c1", "d3", "e3", "f1"])
        #expect(ends == ["b2", "e3", "d3", "c1", "f1", "a1"])
    }
}
