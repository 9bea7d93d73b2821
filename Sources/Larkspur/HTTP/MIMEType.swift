import LarkspurTransport

#if canImport(UniformTypeIdentifiers)
    import UniformTypeIdentifiers
#endif

/// Types of files, told by their names or by their first bytes.
enum MIMEType {
    static let unknown = "application/octet-stream"

    /// The type that goes with the name's extension; nil if it has none or one that nobody knows.
    static func ofFile(named name: String) -> String? {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
        let ending = name[name.index(after: dot)...].lowercased()
        if let type = image(ending) ?? media(ending) ?? text(ending) ?? document(ending) ?? archive(ending) {
            return type
        }
        #if canImport(UniformTypeIdentifiers)
            return UTType(filenameExtension: ending)?.preferredMIMEType
        #else
            return nil
        #endif
    }

    private static func image(_ ending: String) -> String? {
        switch ending {
        case "jpg", "jpeg", "jpe", "jfif": "image/jpeg"
        case "svg", "svgz": "image/svg+xml"
        case "tif", "tiff": "image/tiff"
        case "ico", "cur": "image/vnd.microsoft.icon"
        case "psd": "image/vnd.adobe.photoshop"
        case "dng": "image/x-adobe-dng"
        case "jxr": "image/jxr"
        case "jp2": "image/jp2"
        case "png", "gif", "webp", "avif", "heic", "heif", "bmp", "apng", "jxl": "image/\(ending)"
        default: nil
        }
    }

    private static func media(_ ending: String) -> String? {
        switch ending {
        case "mp3": "audio/mpeg"
        case "m4a", "m4b": "audio/mp4"
        case "oga", "ogg", "opus": "audio/ogg"
        case "mid", "midi": "audio/midi"
        case "aif", "aiff", "aifc": "audio/aiff"
        case "weba": "audio/webm"
        case "wav", "aac", "flac", "amr": "audio/\(ending)"
        case "m3u8": "application/vnd.apple.mpegurl"
        case "mp4", "m4v": "video/mp4"
        case "mov", "qt": "video/quicktime"
        case "mpg", "mpeg": "video/mpeg"
        case "mkv": "video/matroska"
        case "avi": "video/x-msvideo"
        case "wmv": "video/x-ms-wmv"
        case "flv": "video/x-flv"
        case "ogv": "video/ogg"
        case "3gp": "video/3gpp"
        case "3g2": "video/3gpp2"
        case "ts", "m2ts", "mts": "video/mp2t"
        case "webm": "video/webm"
        case "ttf", "otf", "woff", "woff2": "font/\(ending)"
        default: nil
        }
    }

    private static func text(_ ending: String) -> String? {
        switch ending {
        case "txt", "text", "log", "conf", "ini": "text/plain"
        case "htm", "html": "text/html"
        case "js", "mjs": "text/javascript"
        case "md", "markdown": "text/markdown"
        case "ics": "text/calendar"
        case "vcf": "text/vcard"
        case "tsv": "text/tab-separated-values"
        case "css", "csv", "vtt": "text/\(ending)"
        case "json", "map": "application/json"
        case "jsonl", "ndjson": "application/x-ndjson"
        case "geojson": "application/geo+json"
        case "jsonld": "application/ld+json"
        case "webmanifest": "application/manifest+json"
        case "xml", "xsl", "xsd": "application/xml"
        case "xhtml": "application/xhtml+xml"
        case "rss", "atom": "application/\(ending)+xml"
        case "plist": "application/x-plist"
        case "yaml", "yml": "application/yaml"
        case "toml", "sql", "rtf", "wasm": "application/\(ending)"
        case "sh": "application/x-sh"
        case "gpx": "application/gpx+xml"
        case "kml": "application/vnd.google-earth.kml+xml"
        default: nil
        }
    }

    private static func document(_ ending: String) -> String? {
        let office = "application/vnd.openxmlformats-officedocument."
        return switch ending {
        case "pdf": "application/pdf"
        case "doc", "dot": "application/msword"
        case "xls": "application/vnd.ms-excel"
        case "ppt", "pps": "application/vnd.ms-powerpoint"
        case "docx": office + "wordprocessingml.document"
        case "xlsx": office + "spreadsheetml.sheet"
        case "pptx": office + "presentationml.presentation"
        case "odt": "application/vnd.oasis.opendocument.text"
        case "ods": "application/vnd.oasis.opendocument.spreadsheet"
        case "odp": "application/vnd.oasis.opendocument.presentation"
        case "pages", "numbers": "application/vnd.apple.\(ending)"
        case "key": "application/vnd.apple.keynote"
        case "ps", "eps", "ai": "application/postscript"
        case "epub": "application/epub+zip"
        case "mobi": "application/x-mobipocket-ebook"
        case "eml": "message/rfc822"
        case "p7m", "p7c": "application/pkcs7-mime"
        case "pem", "crt", "cer", "der": "application/x-x509-ca-cert"
        case "p12", "pfx": "application/x-pkcs12"
        case "usdz": "model/vnd.usdz+zip"
        case "glb": "model/gltf-binary"
        case "gltf": "model/gltf+json"
        case "stl", "obj": "model/\(ending)"
        default: nil
        }
    }

    private static func archive(_ ending: String) -> String? {
        switch ending {
        case "zip": "application/zip"
        case "gz", "tgz": "application/gzip"
        case "zst": "application/zstd"
        case "bz2": "application/x-bzip2"
        case "xz": "application/x-xz"
        case "tar": "application/x-tar"
        case "7z": "application/x-7z-compressed"
        case "rar": "application/vnd.rar"
        case "jar": "application/java-archive"
        case "apk": "application/vnd.android.package-archive"
        case "dmg": "application/x-apple-diskimage"
        case "iso": "application/x-iso9660-image"
        case "deb": "application/vnd.debian.binary-package"
        case "rpm": "application/x-rpm"
        case "sqlite", "sqlite3": "application/vnd.sqlite3"
        case "bin", "exe", "dll", "ipa": unknown
        default: nil
        }
    }
}
