/// The document of `.ci/data/document.py`, as a program would declare it.
public struct Page: Codable, Sendable {
    public struct Item: Codable, Sendable {
        public struct Location: Codable, Sendable {
            public let latitude: Double
            public let longitude: Double
        }

        public let id: Int
        public let guid, name, email, about: String
        public let active: Bool
        public let balance: Double
        public let location: Location
        public let tags: [String]
        public let parent: Int?
    }

    public let page, total: Int
    public let items: [Item]
}
