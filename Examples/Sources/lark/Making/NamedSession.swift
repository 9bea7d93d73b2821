import Foundation
import Larkspur

/// The stored state of a session: cookies, header fields and credentials for one host, in a private file.
struct NamedSession {
    private struct Content: Codable {
        struct Field: Codable {
            var name: String
            var value: String
        }

        var headers: [Field] = []
        var cookies: [Cookie] = []
        var authentication: String?
        var authenticationKind: String?
    }

    private let file: URL
    private var content = Content()

    /// Reads the file of the session, if there is one.
    ///
    /// - Parameter name: A name, or the path of a file if it has a slash.
    init(_ name: String, host: String) throws {
        if name.contains("/") {
            file = URL(fileURLWithPath: name)
        } else {
            let folder = String(host.map { $0.isLetter || $0.isNumber || ".-".contains($0) ? $0 : "_" })
            guard !name.hasPrefix("."), !folder.hasPrefix(".") else {
                throw UsageError("a session's name must not begin with a dot: “\(name)”")
            }
            file = Self.folder.appendingPathComponent("sessions/\(folder)/\(name).json")
        }
        guard let data = FileManager.default.contents(atPath: file.path) else {
            guard !FileManager.default.fileExists(atPath: file.path) else {
                throw Exit(.file, "the session \(file.path) cannot be read; check its permissions")
            }
            return
        }
        do {
            content = try JSON.Decoder().decode(Content.self, from: data)
        } catch {
            throw Exit(.file, "\(file.path) is not the file of a session; move it away to start a new one (\(error))")
        }
    }

    private static var folder: URL {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["XDG_CONFIG_HOME"], path.hasPrefix("/") {
            return URL(fileURLWithPath: path).appendingPathComponent("lark")
        }
        return FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".config/lark")
    }

    var headers: HTTPHeaders { HTTPHeaders(content.headers.map { HTTPHeader(name: $0.name, value: $0.value) }) }
    var cookies: [Cookie] { content.cookies }

    /// Returns the settings with the credentials of the session, unless the command line has its own.
    func authenticating(_ settings: Settings) -> Settings {
        guard settings.authentication == nil, let authentication = content.authentication else { return settings }
        var settings = settings
        settings.authentication = authentication
        settings.authenticationKind = content.authenticationKind.flatMap(Settings.AuthenticationKind.init) ?? .basic
        return settings
    }

    /// Writes the session: the headers of the request, except those that describe a body or a condition.
    mutating func save(_ plan: RequestPlan, _ settings: Settings, _ cookies: [Cookie]) throws {
        content.headers = plan.headers.filter { field in
            let name = field.name.lowercased()
            return !["content-", "if-"].contains { name.hasPrefix($0) } && !["accept", "cookie"].contains(name)
        }.map { Content.Field(name: $0.name, value: $0.value) }
        content.cookies = cookies
        content.authentication = settings.authentication
        content.authenticationKind = settings.authenticationKind.rawValue
        let folder = file.deletingLastPathComponent()
        let temporary = folder.appendingPathComponent(".\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try Self.write(try JSON.Encoder().encode(content), to: temporary.path)
        } catch {
            unlink(temporary.path)
            throw Exit(.file, "the session \(file.path) cannot be written: \(error)")
        }
        guard rename(temporary.path, file.path) == 0 else {
            unlink(temporary.path)
            throw Exit(.file, "the session \(file.path) cannot be replaced: \(String(cString: strerror(errno)))")
        }
    }

    /// Writes a new file that only its owner can read, from its first byte on.
    private static func write(_ data: Data, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Exit(.file, String(cString: strerror(errno))) }
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: data)
    }
}
