extension RequestContent {
    /// Returns content with a text in UTF-8.
    ///
    ///     let note = await session.request(url, method: .post, body: .text("Buy milk"))
    ///
    /// - Parameter type: The content type; `text/plain; charset=utf-8` by default.
    public static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> RequestContent {
        .data(Data(text.utf8), type: type)
    }
}
