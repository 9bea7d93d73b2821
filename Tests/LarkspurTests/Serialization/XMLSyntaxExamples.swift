import LarkspurXML

// The examples of XMLSyntaxTests. The name of each one describes it.

extension XMLSyntaxTests {
    /// Each with its written form.
    static let accepted: [(XMLSyntaxCase, String)] = documents + namespaces

    private static let documents: [(XMLSyntaxCase, String)] = [
        (XMLSyntaxCase("y_empty tag", "<a/>"), "<a/>"),
        (XMLSyntaxCase("y_empty tag with space", "<a />"), "<a/>"),
        (XMLSyntaxCase("y_nothing between tags", "<a></a>"), "<a/>"),
        (XMLSyntaxCase("y_space in end tag", "<a>x</a\n>"), "<a>x</a>"),
        (XMLSyntaxCase("y_space around", " \n\t<a/>\r\n "), "<a/>"),
        (XMLSyntaxCase("y_nested", "<a><b><c/></b><b/></a>"), "<a><b><c/></b><b/></a>"),
        (XMLSyntaxCase("y_text among elements", "<a> x <b>y</b> z </a>"), "<a> x <b>y</b> z </a>"),
        (XMLSyntaxCase("y_declaration", "<?xml version=\"1.0\"?><a/>"), "<a/>"),
        (
            XMLSyntaxCase("y_declaration in full", "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n<a/>"),
            "<a/>"
        ),
        (XMLSyntaxCase("y_declaration with spaces", "<?xml\tversion = '1.0'\nstandalone = \"no\"?><a/>"), "<a/>"),
        (XMLSyntaxCase("y_version 1.1", "<?xml version='1.1'?><a/>"), "<a/>"),
        (XMLSyntaxCase("y_byte order mark", "\u{FEFF}<?xml version='1.0'?><a/>"), "<a/>"),
        (XMLSyntaxCase("y_comments around", "<!-- x --><a/><!---->"), "<a/>"),
        (XMLSyntaxCase("y_comment inside", "<a>x<!-- <b> & - \"' -->y</a>"), "<a>x<!-- <b> & - \"' -->y</a>"),
        (XMLSyntaxCase("y_instructions around", "<?style a='b'?><a/><?end?>"), "<a/>"),
        (XMLSyntaxCase("y_instruction inside", "<a><?do  x < y & z??></a>"), "<a><?do x < y & z??></a>"),
        (XMLSyntaxCase("y_instruction without data", "<a><?do?><?do ?></a>"), "<a><?do?><?do?></a>"),
        (XMLSyntaxCase("y_instruction like a declaration", "<?xml-stylesheet href='x'?><a/>"), "<a/>"),
        (XMLSyntaxCase("y_CDATA", "<a><![CDATA[<b> & ]] > ]]]></a>"), "<a>&lt;b&gt; &amp; ]] &gt; ]</a>"),
        (XMLSyntaxCase("y_CDATA empty", "<a><![CDATA[]]></a>"), "<a/>"),
        (XMLSyntaxCase("y_CDATA between text", "<a>x<![CDATA[y]]>z<![CDATA[]]></a>"), "<a>xyz</a>"),
        (XMLSyntaxCase("y_CDATA end in two sections", "<a><![CDATA[]]]]><![CDATA[>]]></a>"), "<a>]]&gt;</a>"),
        (XMLSyntaxCase("y_the five entities", "<a>&lt;&gt;&amp;&quot;&apos;</a>"), "<a>&lt;&gt;&amp;\"'</a>"),
        (
            XMLSyntaxCase("y_entities in an attribute", "<a b='&lt;&gt;&amp;&quot;&apos;'/>"),
            "<a b=\"&lt;&gt;&amp;&quot;'\"/>"
        ),
        (XMLSyntaxCase("y_entity not expanded twice", "<a>&amp;lt;&#38;lt;</a>"), "<a>&amp;lt;&amp;lt;</a>"),
        (XMLSyntaxCase("y_numbers", "<a>&#65;&#x42;&#x00043;&#0068;</a>"), "<a>ABCD</a>"),
        (XMLSyntaxCase("y_numbers beyond ASCII", "<a>&#233;&#x6F22;&#x1f600;&#x10FFFF;</a>"), "<a>é漢😀\u{10FFFF}</a>"),
        (
            XMLSyntaxCase("y_number of a line feed", "<a b='&#10;&#13;&#9;'>&#13;</a>"),
            "<a b=\"&#10;&#13;&#9;\">&#13;</a>"
        ),
        (XMLSyntaxCase("y_ends of lines", "<a>1\r\n2\r3\n4\r\r\n</a>"), "<a>1\n2\n3\n4\n\n</a>"),
        (XMLSyntaxCase("y_ends of lines in an attribute", "<a b='1\r\n2\r3\n4\t5'/>"), "<a b=\"1 2 3 4 5\"/>"),
        (XMLSyntaxCase("y_attributes", "<a b='1' c=\"2\"\n\td = '3'/>"), "<a b=\"1\" c=\"2\" d=\"3\"/>"),
        (XMLSyntaxCase("y_attribute empty", "<a b=''/>"), "<a b=\"\"/>"),
        (XMLSyntaxCase("y_attribute with other quote", "<a b='\"' c=\"'\"/>"), "<a b=\"&quot;\" c=\"'\"/>"),
        (XMLSyntaxCase("y_attribute with greater-than", "<a b='x>y]]>'/>"), "<a b=\"x&gt;y]]&gt;\"/>"),
        (XMLSyntaxCase("y_brackets in text", "<a>] ]] ]>x</a>"), "<a>] ]] ]&gt;x</a>"),
        (XMLSyntaxCase("y_names of all kinds", "<_a-b.c1 é='1' 漢·='2'/>"), "<_a-b.c1 é=\"1\" 漢·=\"2\"/>"),
        (XMLSyntaxCase("y_name of the fourth plane", "<\u{10000}/>"), "<\u{10000}/>"),
        (XMLSyntaxCase("y_names that differ in case", "<a b='1' B='2'><A/></a>"), "<a b=\"1\" B=\"2\"><A/></a>"),
        (
            XMLSyntaxCase("y_control beyond ASCII", "<a>\u{7F}\u{85}\u{9F}\u{2028}</a>"),
            "<a>\u{7F}\u{85}\u{9F}\u{2028}</a>"
        ),
        (
            XMLSyntaxCase("y_last allowed characters", "<a>\u{D7FF}\u{E000}\u{FFFD}\u{1FFFE}</a>"),
            "<a>\u{D7FF}\u{E000}\u{FFFD}\u{1FFFE}</a>"
        ),
        (XMLSyntaxCase("y_document type", "<!DOCTYPE a><a/>"), "<a/>"),
        (XMLSyntaxCase("y_document type SYSTEM", "<!DOCTYPE a SYSTEM 'a>.dtd' ><a/>"), "<a/>"),
        (XMLSyntaxCase("y_document type PUBLIC", "<!DOCTYPE a PUBLIC \"-//X//Y\" 'x'><a/>"), "<a/>"),
        (XMLSyntaxCase("y_document type after comments", "<!--x--> <?y?> <!DOCTYPE a> <!--z--><a/>"), "<a/>"),
        (XMLSyntaxCase("y_document type with prefix", "<!DOCTYPE x:a><a/>"), "<a/>"),
        (
            XMLSyntaxCase(
                "y_internal subset",
                "<!DOCTYPE a SYSTEM 'x' [<!ELEMENT a (#PCDATA)> %p; <!-- ]> ' --> <?x ]> \" ?><!ENTITY b \"]>'\"> ] ><a/>"
            ),
            "<a/>"
        ),
    ]

    private static let namespaces: [(XMLSyntaxCase, String)] = [
        (
            XMLSyntaxCase("y_default namespace", "<a xmlns='u:1'><b xmlns=''/></a>"),
            "<a xmlns=\"u:1\"><b xmlns=\"\"/></a>"
        ),
        (XMLSyntaxCase("y_prefix", "<p:a xmlns:p='u:1' p:b='2'/>"), "<p:a xmlns:p=\"u:1\" p:b=\"2\"/>"),
        (XMLSyntaxCase("y_prefix declared last", "<p:a p:b='2' xmlns:p='u:1'/>"), "<p:a p:b=\"2\" xmlns:p=\"u:1\"/>"),
        (XMLSyntaxCase("y_xml prefix", "<a xml:lang='de'/>"), "<a xml:lang=\"de\"/>"),
        (
            XMLSyntaxCase("y_xml prefix declared", "<a xmlns:xml='http://www.w3.org/XML/1998/namespace'/>"),
            "<a xmlns:xml=\"http://www.w3.org/XML/1998/namespace\"/>"
        ),
        (
            XMLSyntaxCase("y_same local name, no and other namespace", "<a xmlns='u:1' xmlns:p='u:1' b='1' p:b='2'/>"),
            "<a xmlns=\"u:1\" xmlns:p=\"u:1\" b=\"1\" p:b=\"2\"/>"
        ),
        (
            XMLSyntaxCase("y_prefix declared anew", "<p:a xmlns:p='u:1'><p:b xmlns:p='u:2'/><p:c/></p:a>"),
            "<p:a xmlns:p=\"u:1\"><p:b xmlns:p=\"u:2\"/><p:c/></p:a>"
        ),
    ]

    /// Each with the line and the column of its error.
    static let refused: [(XMLSyntaxCase, XMLError.Reason, String)] = refusedStructure + refusedTags + refusedText

    private static let refusedStructure: [(XMLSyntaxCase, XMLError.Reason, String)] = [
        (XMLSyntaxCase("n_empty", ""), .unexpectedEnd, "1:1"),
        (XMLSyntaxCase("n_only space", " \n "), .unexpectedEnd, "2:2"),
        (XMLSyntaxCase("n_only a comment", "<!-- -->"), .unexpectedEnd, "1:9"),
        (XMLSyntaxCase("n_only a declaration", "<?xml version='1.0'?>"), .unexpectedEnd, "1:22"),
        (XMLSyntaxCase("n_only a document type", "<!DOCTYPE a>"), .unexpectedEnd, "1:13"),
        (XMLSyntaxCase("n_text before", "x<a/>"), .unexpectedCharacter, "1:1"),
        (XMLSyntaxCase("n_text after", "<a/>x"), .unexpectedCharacter, "1:5"),
        (XMLSyntaxCase("n_reference after", "<a/>&#32;"), .unexpectedCharacter, "1:5"),
        (XMLSyntaxCase("n_CDATA before", "<![CDATA[]]><a/>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_two elements", "<a/>\n<b/>"), .unexpectedCharacter, "2:1"),
        (XMLSyntaxCase("n_end tag alone", "</a>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_end tag too many", "<a></a></a>"), .unexpectedCharacter, "1:8"),
        (XMLSyntaxCase("n_not closed", "<a>"), .unexpectedEnd, "1:4"),
        (XMLSyntaxCase("n_crossing", "<a><b></a></b>"), .mismatchedTag, "1:9"),
        (XMLSyntaxCase("n_other case", "<a></A>"), .mismatchedTag, "1:6"),
        (XMLSyntaxCase("n_longer end tag", "<a></ab>"), .mismatchedTag, "1:6"),
        (XMLSyntaxCase("n_shorter end tag", "<ab></a>"), .mismatchedTag, "1:7"),
        (
            XMLSyntaxCase("n_other prefix, same namespace", "<p:a xmlns:p='u' xmlns:q='u'></q:a>"), .mismatchedTag,
            "1:32"
        ),
        (XMLSyntaxCase("n_end tag in another normal form", "<\u{E9}></e\u{301}>"), .mismatchedTag, "1:6"),
        (XMLSyntaxCase("n_declaration not first", " <?xml version='1.0'?><a/>"), .malformedName, "1:4"),
        (
            XMLSyntaxCase("n_declaration twice", "<?xml version='1.0'?><?xml version='1.0'?><a/>"), .malformedName,
            "1:24"
        ),
        (XMLSyntaxCase("n_declaration in capitals", "<?XML version='1.0'?><a/>"), .malformedName, "1:3"),
        (XMLSyntaxCase("n_declaration without version", "<?xml encoding='UTF-8'?><a/>"), .unexpectedCharacter, "1:6"),
        (XMLSyntaxCase("n_version 2.0", "<?xml version='2.0'?><a/>"), .unexpectedCharacter, "1:20"),
        (
            XMLSyntaxCase("n_declaration out of order", "<?xml version='1.0' standalone='no' encoding='UTF-8'?><a/>"),
            .unexpectedCharacter, "1:37"
        ),
        (
            XMLSyntaxCase("n_declaration without space", "<?xml version='1.0'encoding='UTF-8'?><a/>"),
            .unexpectedCharacter, "1:20"
        ),
        (
            XMLSyntaxCase("n_standalone maybe", "<?xml version='1.0' standalone='maybe'?><a/>"), .unexpectedCharacter,
            "1:39"
        ),
        (XMLSyntaxCase("n_document type twice", "<!DOCTYPE a><!DOCTYPE a><a/>"), .malformedName, "1:14"),
        (XMLSyntaxCase("n_document type inside", "<a><!DOCTYPE a></a>"), .malformedName, "1:5"),
        (XMLSyntaxCase("n_document type after", "<a/><!DOCTYPE a>"), .unexpectedCharacter, "1:5"),
        (XMLSyntaxCase("n_document type lower case", "<!doctype a><a/>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_document type without name", "<!DOCTYPE ><a/>"), .malformedName, "1:11"),
        (XMLSyntaxCase("n_document type without space", "<!DOCTYPEa><a/>"), .unexpectedCharacter, "1:10"),
        (XMLSyntaxCase("n_document type with words", "<!DOCTYPE a b><a/>"), .unexpectedCharacter, "1:13"),
        (XMLSyntaxCase("n_PUBLIC with one literal", "<!DOCTYPE a PUBLIC 'x'><a/>"), .unexpectedCharacter, "1:23"),
        (XMLSyntaxCase("n_SYSTEM without quotes", "<!DOCTYPE a SYSTEM x><a/>"), .unexpectedCharacter, "1:20"),
        (XMLSyntaxCase("n_internal subset not closed", "<!DOCTYPE a [<!ENTITY b ']>'>"), .unexpectedEnd, "1:30"),
        (XMLSyntaxCase("n_element declaration outside", "<!ELEMENT a EMPTY><a/>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_HTML void element", "<p>a<br>b</p>"), .mismatchedTag, "1:12"),
        (XMLSyntaxCase("n_JSON", "{}"), .unexpectedCharacter, "1:1"),
    ]

    private static let refusedTags: [(XMLSyntaxCase, XMLError.Reason, String)] = [
        (XMLSyntaxCase("n_tag without name", "<>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_space before name", "< a/>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_space before name of end tag", "<a></ a>"), .malformedName, "1:6"),
        (XMLSyntaxCase("n_name begins with digit", "<1a/>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_name begins with hyphen", "<-a/>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_name begins with point", "<.a/>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_name begins with combining mark", "<\u{301}a/>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_name with multiplication sign", "<a\u{D7}/>"), .unexpectedCharacter, "1:3"),
        (XMLSyntaxCase("n_name with at sign", "<a@/>"), .unexpectedCharacter, "1:3"),
        (XMLSyntaxCase("n_name of symbols", "<\u{2190}/>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_colon first", "<:a/>"), .malformedName, "1:2"),
        (XMLSyntaxCase("n_colon last", "<a:/>"), .malformedName, "1:4"),
        (XMLSyntaxCase("n_two colons", "<a:b:c xmlns:a='u'/>"), .unexpectedCharacter, "1:5"),
        (XMLSyntaxCase("n_local name begins with digit", "<a:1 xmlns:a='u'/>"), .malformedName, "1:4"),
        (XMLSyntaxCase("n_colon in target", "<?a:b?><c/>"), .unexpectedCharacter, "1:4"),
        (XMLSyntaxCase("n_slash alone", "<a/ >"), .unexpectedCharacter, "1:3"),
        (XMLSyntaxCase("n_slash in end tag", "<a></a/>"), .unexpectedCharacter, "1:7"),
        (XMLSyntaxCase("n_attribute in end tag", "<a></a b='1'>"), .unexpectedCharacter, "1:8"),
        (XMLSyntaxCase("n_attribute without value", "<a b/>"), .unexpectedCharacter, "1:5"),
        (XMLSyntaxCase("n_attribute without quotes", "<a b=1/>"), .unexpectedCharacter, "1:6"),
        (XMLSyntaxCase("n_attribute without name", "<a ='1'/>"), .malformedName, "1:4"),
        (XMLSyntaxCase("n_attribute not closed", "<a b='1/>"), .unexpectedEnd, "1:10"),
        (XMLSyntaxCase("n_attribute closed by other quote", "<a b='1\"/>"), .unexpectedEnd, "1:11"),
        (XMLSyntaxCase("n_attributes without space", "<a b='1'c='2'/>"), .unexpectedCharacter, "1:9"),
        (XMLSyntaxCase("n_attribute with less-than", "<a b='<'/>"), .unexpectedCharacter, "1:7"),
        (XMLSyntaxCase("n_attribute twice", "<a b='1' c='' b='1'/>"), .duplicateAttribute, "1:15"),
        (
            XMLSyntaxCase("n_attribute twice by namespace", "<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>"),
            .duplicateAttribute, "1:36"
        ),
        (XMLSyntaxCase("n_namespace declared twice", "<a xmlns:p='u' xmlns:p='v'/>"), .duplicateAttribute, "1:16"),
        (XMLSyntaxCase("n_default declared twice", "<a xmlns='u' xmlns='u'/>"), .duplicateAttribute, "1:14"),
        (XMLSyntaxCase("n_element's prefix not declared", "<p:a/>"), .unboundPrefix, "1:2"),
        (XMLSyntaxCase("n_attribute's prefix not declared", "<a p:b='1'/>"), .unboundPrefix, "1:4"),
        (XMLSyntaxCase("n_prefix declared elsewhere", "<a><b xmlns:p='u'/><p:c/></a>"), .unboundPrefix, "1:21"),
        (XMLSyntaxCase("n_element of xmlns", "<xmlns:a/>"), .unboundPrefix, "1:2"),
        (XMLSyntaxCase("n_prefix without namespace", "<a xmlns:p=''/>"), .invalidNamespace, "1:4"),
        (XMLSyntaxCase("n_xmlns declared", "<a xmlns:xmlns='u'/>"), .invalidNamespace, "1:4"),
        (XMLSyntaxCase("n_xml declared otherwise", "<a xmlns:xml='u'/>"), .invalidNamespace, "1:4"),
        (
            XMLSyntaxCase("n_xml's namespace with other prefix", "<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>"),
            .invalidNamespace, "1:4"
        ),
        (
            XMLSyntaxCase("n_namespace of declarations", "<a xmlns='http://www.w3.org/2000/xmlns/'/>"),
            .invalidNamespace, "1:4"
        ),
    ]

    private static let refusedText: [(XMLSyntaxCase, XMLError.Reason, String)] = [
        (XMLSyntaxCase("n_ampersand alone", "<a>&</a>"), .malformedReference, "1:5"),
        (XMLSyntaxCase("n_ampersand in an address", "<a>?x=1&y=2</a>"), .malformedReference, "1:10"),
        (XMLSyntaxCase("n_ampersand in an attribute", "<a b='& '/>"), .malformedReference, "1:8"),
        (XMLSyntaxCase("n_entity of HTML", "<a>&nbsp;</a>"), .unknownEntity, "1:4"),
        (XMLSyntaxCase("n_entity in capitals", "<a>&LT;</a>"), .unknownEntity, "1:4"),
        (
            XMLSyntaxCase("n_entity that is declared", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"), .unknownEntity,
            "1:34"
        ),
        (XMLSyntaxCase("n_entity without semicolon", "<a>&lt</a>"), .malformedReference, "1:7"),
        (XMLSyntaxCase("n_number empty", "<a>&#;</a>"), .malformedReference, "1:6"),
        (XMLSyntaxCase("n_number hexadecimal, empty", "<a>&#x;</a>"), .malformedReference, "1:7"),
        (XMLSyntaxCase("n_number with capital X", "<a>&#X41;</a>"), .malformedReference, "1:6"),
        (XMLSyntaxCase("n_number with letters", "<a>&#4a;</a>"), .malformedReference, "1:7"),
        (XMLSyntaxCase("n_number negative", "<a>&#-1;</a>"), .malformedReference, "1:6"),
        (XMLSyntaxCase("n_number without semicolon", "<a>&#65</a>"), .malformedReference, "1:8"),
        (XMLSyntaxCase("n_number zero", "<a>&#0;</a>"), .invalidCharacter, "1:4"),
        (XMLSyntaxCase("n_number of a control", "<a>&#x1F;</a>"), .invalidCharacter, "1:4"),
        (XMLSyntaxCase("n_number of a surrogate", "<a>&#xD800;</a>"), .invalidCharacter, "1:4"),
        (XMLSyntaxCase("n_number of a noncharacter", "<a>&#xFFFE;</a>"), .invalidCharacter, "1:4"),
        (XMLSyntaxCase("n_number too large", "<a>&#x110000;</a>"), .invalidCharacter, "1:4"),
        (XMLSyntaxCase("n_number much too large", "<a>&#99999999999999999999999;</a>"), .invalidCharacter, "1:4"),
        (XMLSyntaxCase("n_end of CDATA in text", "<a>]]></a>"), .unexpectedCharacter, "1:4"),
        (XMLSyntaxCase("n_CDATA not closed", "<a><![CDATA[x]]</a>"), .unexpectedEnd, "1:20"),
        (XMLSyntaxCase("n_CDATA lower case", "<a><![cdata[x]]></a>"), .malformedName, "1:5"),
        (XMLSyntaxCase("n_comment with two hyphens", "<a><!-- -- --></a>"), .unexpectedCharacter, "1:11"),
        (XMLSyntaxCase("n_comment ends with three hyphens", "<a><!-- ---></a>"), .unexpectedCharacter, "1:11"),
        (XMLSyntaxCase("n_comment not closed", "<a><!-- x</a>"), .unexpectedEnd, "1:14"),
        (XMLSyntaxCase("n_comment cut short", "<a><!--></a>"), .unexpectedEnd, "1:13"),
        (XMLSyntaxCase("n_instruction not closed", "<a><?x y></a>"), .unexpectedEnd, "1:14"),
        (XMLSyntaxCase("n_instruction without target", "<a><? x?></a>"), .malformedName, "1:6"),
        (XMLSyntaxCase("n_NUL", "<a>\u{0}</a>"), .invalidCharacter, "1:4"),
        (XMLSyntaxCase("n_NUL at the end", "<a/>\u{0}"), .invalidCharacter, "1:5"),
        (XMLSyntaxCase("n_escape", "<a>\n\u{1B}[0m</a>"), .invalidCharacter, "2:1"),
        (XMLSyntaxCase("n_form feed as space", "<a\u{C}/>"), .invalidCharacter, "1:3"),
        (XMLSyntaxCase("n_noncharacter FFFE", "<a>é\u{FFFE}</a>"), .invalidCharacter, "1:5"),
        (XMLSyntaxCase("n_noncharacter FFFF", "<a b='\u{FFFF}'/>"), .invalidCharacter, "1:7"),
        (XMLSyntaxCase("n_no-break space as space", "<a\u{A0}b='1'/>"), .unexpectedCharacter, "1:3"),
        (XMLSyntaxCase("n_byte order mark twice", "\u{FEFF}\u{FEFF}<a/>"), .unexpectedCharacter, "1:1"),
    ]
}
