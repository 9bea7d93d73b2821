import Foundation
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("The URL of a Valkey store", .limited)
struct ValkeyAddressTests {
    @Test("A URL has its parts")
    func parts() throws {
        var address = try ValkeyAddress("redis://host")
        #expect(address.hosts == [ValkeyHost(name: "host", port: 6_379)])
        #expect(!address.isSecure && address.user == nil && address.password == nil && address.database == 0)
        address = try ValkeyAddress("valkeys://us%65r:p%40ss:%2f@[::1]:7/15")
        #expect(address.hosts == [ValkeyHost(name: "::1", port: 7)] && address.isSecure && address.database == 15)
        #expect(address.user == "user" && address.password == "p@ss:/")
        address = try ValkeyAddress("REDIS://:p@w@h:65535/")
        #expect(address.user == nil && address.password == "p@w" && address.hosts[0].port == 65_535)
        address = try ValkeyAddress("redis+sentinel://:p@a,b:7/the%20name/3")
        #expect(address.primary == "the name" && address.database == 3 && address.password == "p")
        #expect(address.hosts == [ValkeyHost(name: "a", port: 26_379), ValkeyHost(name: "b", port: 7)])
        #expect(!address.isSecure)
        address = try ValkeyAddress("valkeys+sentinel://a/name")
        #expect(address.isSecure && address.primary == "name")
    }

    @Test(
        "An invalid URL is refused, and its password is not shown",
        arguments: [
            "", "host:6379", "http://:hunter2@host", "redis://", "redis://:hunter2@", "redis://user@host",
            "redis://:@host",
            "redis://:hunter2%zz@host", "redis://:hunter2%4@host", "redis://:%FFhunter2@host",
            "redis://:hunter2@host:0",
            "redis://:hunter2@host:65536", "redis://:hunter2@host:", "redis://:hunter2@host:+1",
            "redis://:hunter2@[::1",
            "redis://:hunter2@[::1]6", "redis://:hunter2@a b", "redis://:hunter2@host/x", "redis://:hunter2@host/-1",
            "redis://:hunter2@host/1/2", "redis://:hunter2@host/1234567890", "redis://:hunter2@host?ssl=1",
            "redis://:hunter2@host#1", "redis://:hunter2@a,b", "redis+sentinel://:hunter2@host", "redis://:hunter2@é",
            "redis+sentinel://:hunter2@host/", "+sentinel://:hunter2@host/name", "redis+sentinel://:hunter2@a,,b/name",
            "unix:///socket",
        ])
    func invalid(text: String) {
        #expect {
            try ValkeyAddress(text)
        } throws: { error in
            (error as? StoreError)?.code == .invalidInput && !"\(error)".contains("hunter2")
        }
    }

    @Test("The public text of an address is a URL without credentials")
    func publicText() throws {
        for text in ["redis://h:1/2", "rediss://[::1]:6379/0", "rediss+sentinel://a:1,b:2/name/3"] {
            let secret = text.replacingOccurrences(of: "://", with: "://user:hunter2@")
            #expect(try ValkeyAddress(secret).publicText == text)
        }
    }

    @Test("Errors of a server have codes, in the forms of all versions")
    func errors() {
        let codes: [(String, StoreError.Code)] = [
            ("OOM command not allowed when used memory > 'maxmemory'.", .full),
            ("ERR Error running script (call to f_1): @user_script:5: -OOM command not allowed", .full),
            ("READONLY You can't write against a read only replica.", .denied),
            ("-READONLY You can't write against a read only replica. script: abc, on @user_script:20.", .denied),
            ("NOAUTH Authentication required.", .denied), ("WRONGPASS invalid username-password pair", .denied),
            ("NOPERM this user has no permissions", .denied),
            ("ERR The user executing the script can't run this command or subcommand script: a1", .denied),
            ("ERR The user executing the script can't access at least one of the keys mentioned script: a1", .denied),
            ("ERR ACL failure in script: User a has no permissions to run the 'publish' command script: a1", .denied),
            ("ERR ACL failure in script: No permissions to access a channel script: a1", .denied),
            ("MOVED 3999 127.0.0.1:6381", .unavailable),
            ("BUSY Redis is busy running a script.", .busy), ("WRONGTYPE Operation against a key", .damaged),
            ("LOADING Redis is loading the dataset in memory", .unavailable), ("ERR whatever", .unavailable),
            ("ERR the word OOM alone means nothing", .unavailable), ("", .unavailable),
        ]
        for (text, code) in codes { #expect(StoreError(server: text).code == code, "\(text)") }
        #expect(!StoreError(server: "ERR a\r\nb").message.contains("\n"))
    }

    @Test("Durations are rounded up, and never overflow")
    func durations() {
        #expect(Duration.zero.wholeMilliseconds == 0)
        #expect(Duration.nanoseconds(1).wholeMilliseconds == 1 && Duration.nanoseconds(1).wholeMicroseconds == 1)
        #expect(Duration.milliseconds(1_500).wholeMilliseconds == 1_500)
        #expect(Duration.milliseconds(1_500).wholeMicroseconds == 1_500_000)
        #expect(Duration.seconds(Int64.max).wholeMilliseconds == .max)
    }

    @Test("A queue keeps the order of its elements, whatever was inserted before them")
    func queue() {
        var (numbers, queue, model) = (SeededRandom(seed: 3), ValkeyQueue<Int>(), [Int]())
        for step in 0..<5_000 {
            switch Int.random(in: 0..<20, using: &numbers) {
            case 0..<9:
                queue.append(step)
                model.append(step)
            case 9..<18: #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            case 18:
                queue.insert([step, -step])
                model.insert(contentsOf: [step, -step], at: 0)
            default:
                if numbers.once(in: 10) {
                    #expect(queue.removeAll() == model)
                    model = []
                }
            }
            #expect(queue.first == model.first && queue.count == model.count)
        }
    }
}
