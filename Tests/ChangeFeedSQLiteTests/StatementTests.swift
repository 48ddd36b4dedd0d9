import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// A statement is run with what it was given, or not at all.
final class StatementTests: XCTestCase {
    func testAParameterThatIsNotTakenIsAnErrorOfTheNextStep() async throws {
        let folder = try StoreFolder()
        let connection = try SQLiteConnection(path: folder.file().path, access: .create)
        try connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), (3)")
        let select = try connection.prepare("SELECT x FROM t WHERE x >= ?1 ORDER BY x")
        select.bind(1, at: 1)
        XCTAssertTrue(try select.step())
        // While it runs, it takes no parameters: the rows that follow would be of the earlier ones.
        select.bind(3, at: 1)
        await expectError(.internalError) { try select.step() }
        select.bind(3, at: 1)
        XCTAssertTrue(try select.step())
        XCTAssertEqual(select.int64(0), 3)
        XCTAssertFalse(try select.step())
    }

    func testAParameterThatIsNotThereIsAnError() async throws {
        let folder = try StoreFolder()
        let connection = try SQLiteConnection(path: folder.file().path, access: .create)
        try connection.execute("CREATE TABLE t (x)")
        let insert = try connection.prepare("INSERT INTO t VALUES (?1)")
        insert.bind("text", at: 2)
        await expectError(.internalError) { try insert.run() }
        XCTAssertEqual(try connection.number("SELECT count(*) FROM t"), 0)
        insert.bind("text", at: 1)
        try insert.run()
        XCTAssertEqual(try connection.texts("SELECT x FROM t"), ["text"])
    }
}
