import ChangeFeedTesting
import XCTest

@testable import ChangeFeedCommand

/// A path of any bytes as text, without loss.
final class PathTextTests: XCTestCase {
    func testVisibleTextStandsForItselfAndTheRestForItsBytes() {
        let texts: [([UInt8], String)] = [
            (Array("Sources/a b.swift".utf8), "Sources/a b.swift"),
            (Array("caf\u{E9}/\u{1F600}".utf8), "caf\u{E9}/\u{1F600}"),
            (Array("back\\slash".utf8), #"back\\slash"#),
            (Array("line\nfeed\u{1B}[2J\u{7F}".utf8), #"line\x0afeed\x1b[2J\x7f"#),
            (Array("\u{9B}2J \u{202E}x\u{2028}".utf8), #"\xc2\x9b2J \xe2\x80\xaex\xe2\x80\xa8"#),
            ([0xff, 0x61, 0xc3], #"\xffa\xc3"#),
            ([0xe2, 0x82, 0x61], #"\xe2\x82a"#),
            ([0xed, 0xa0, 0x80], #"\xed\xa0\x80"#),
            ([0xc0, 0x80], #"\xc0\x80"#),
            ([0xf5, 0x80, 0x80, 0x80], #"\xf5\x80\x80\x80"#),
            ([], ""),
        ]
        for (bytes, text) in texts { XCTAssertEqual(PathText.printable(bytes), text) }
    }

    func testTheBytesCanBeReadBack() {
        var generator = SeededGenerator(seed: 8)
        for round in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                // Half of them from a small choice, so that escapes and whole sequences meet often.
                Bool.random(using: &generator)
                    ? UInt8.random(in: .min ... .max, using: &generator)
                    : [0x5c, 0x78, 0x30, 0xc3, 0xa9, 0xe2, 0x82, 0xac].randomElement(using: &generator) ?? 0
            }
            XCTAssertEqual(bytesWritten(as: PathText.printable(bytes)), bytes, "round \(round)")
        }
    }

    /// The reverse, as the documentation describes it.
    private func bytesWritten(as text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            if rest.popFirst() == UInt8(ascii: "\\") {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            }
        }
        return bytes
    }
}
