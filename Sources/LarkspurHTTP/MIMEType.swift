#if canImport(UniformTypeIdentifiers)
    import UniformTypeIdentifiers
#endif

/// The media types of files, by their names or by their first bytes.
package enum MIMEType {
    /// Returns the type for the name's extension; nil if the name has no extension or an unknown extension.
    package static func ofFile(named name: String) -> String? {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
        let ending = name[name.index(after: dot)...].lowercased()
        if let (kind, subtype) = types[ending[...]] { return "\(kind)/\(subtype)" }
        #if canImport(UniformTypeIdentifiers)
            return UTType(filenameExtension: ending)?.preferredMIMEType
        #else
            return nil
        #endif
    }

    /// The types by extension. Keys and values are substrings of the table, so no text is copied.
    private static let types = {
        var types: [Substring: (kind: Substring, subtype: Substring)] = [:]
        for line in table.split(separator: "\n") {
            let words = line.split(separator: " ")
            for word in words.dropFirst() {
                let sides = word.split(separator: "=")
                for ending in sides[sides.count - 1].split(separator: ",") { types[ending] = (words[0], sides[0]) }
            }
        }
        return types
    }()

    /// The table of types. Each line starts with a kind, such as `image`, and lists subtypes of this kind. The file
    /// extensions of a subtype follow its `=`; without a `=`, the only extension is the subtype's name.
    private static let table = """
        image jpeg=jpg,jpeg,jpe,jfif svg+xml=svg,svgz tiff=tif,tiff vnd.microsoft.icon=ico,cur
        image vnd.adobe.photoshop=psd x-adobe-dng=dng jxr jp2 png gif webp avif heic heif bmp apng jxl
        audio mpeg=mp3 mp4=m4a,m4b ogg=oga,ogg,opus midi=mid,midi aiff=aif,aiff,aifc webm=weba wav aac flac amr
        application vnd.apple.mpegurl=m3u8 json=json,map x-ndjson=jsonl,ndjson geo+json=geojson ld+json=jsonld
        application manifest+json=webmanifest xml=xml,xsl,xsd xhtml+xml=xhtml rss+xml=rss atom+xml=atom
        application x-plist=plist yaml=yaml,yml toml sql rtf wasm x-sh=sh gpx+xml=gpx vnd.google-earth.kml+xml=kml
        application pdf msword=doc,dot vnd.ms-excel=xls vnd.ms-powerpoint=ppt,pps
        application vnd.openxmlformats-officedocument.wordprocessingml.document=docx
        application vnd.openxmlformats-officedocument.spreadsheetml.sheet=xlsx
        application vnd.openxmlformats-officedocument.presentationml.presentation=pptx
        application vnd.oasis.opendocument.text=odt vnd.oasis.opendocument.spreadsheet=ods
        application vnd.oasis.opendocument.presentation=odp vnd.apple.pages=pages vnd.apple.numbers=numbers
        application vnd.apple.keynote=key postscript=ps,eps,ai epub+zip=epub x-mobipocket-ebook=mobi
        application pkcs7-mime=p7m,p7c x-x509-ca-cert=pem,crt,cer,der x-pkcs12=p12,pfx zip gzip=gz,tgz zstd=zst
        application x-bzip2=bz2 x-xz=xz x-tar=tar x-7z-compressed=7z vnd.rar=rar java-archive=jar
        application vnd.android.package-archive=apk x-apple-diskimage=dmg x-iso9660-image=iso
        application vnd.debian.binary-package=deb x-rpm=rpm vnd.sqlite3=sqlite,sqlite3 octet-stream=bin,exe,dll,ipa
        video mp4=mp4,m4v quicktime=mov,qt mpeg=mpg,mpeg matroska=mkv x-msvideo=avi x-ms-wmv=wmv x-flv=flv ogg=ogv
        video 3gpp=3gp 3gpp2=3g2 mp2t=ts,m2ts,mts webm
        font ttf otf woff woff2
        text plain=txt,text,log,conf,ini html=htm,html javascript=js,mjs markdown=md,markdown calendar=ics
        text vcard=vcf tab-separated-values=tsv css csv vtt
        message rfc822=eml
        model vnd.usdz+zip=usdz gltf-binary=glb gltf+json=gltf stl obj
        """
}
