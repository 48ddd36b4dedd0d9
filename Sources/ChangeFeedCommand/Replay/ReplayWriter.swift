import ChangeFeed

/// The device that writes a history: each commit as one atomic modify, or as several where one would be too large.
///
/// It knows what a client knows: the record of each file as the server gave it back when it was saved last. Every save
/// and delete goes against exactly that version, so nothing is written over what it has not seen.
struct ReplayWriter {
    private let database: any RecordDatabase
    private let batchLimit: Int
    private let byteLimit: Int
    private var records: [[UInt8]: Record] = [:]
    /// How many saves the server has confirmed.
    private(set) var saves = 0
    /// How many deletes the server has confirmed.
    private(set) var deletes = 0

    /// A writer whose requests have at most `batchLimit` items and `byteLimit` bytes; one file that is larger than
    /// that goes alone.
    init(to database: any RecordDatabase, batchLimit: Int, byteLimit: Int = Limits.cloudKit.bytesPerRequest) {
        self.database = database
        self.batchLimit = batchLimit
        self.byteLimit = byteLimit
    }

    /// How many records are live now.
    var liveCount: Int { records.count }

    /// Makes the zone that all files go to or, where it is there, learns what an earlier replay has left in it.
    ///
    /// Gives how far that replay came; nil if nothing is written yet.
    mutating func begin() async throws(ReplayFailure) -> ReplayMarker? {
        do {
            let zones = try await database.recordZones(.init(zoneIDs: [FileRecord.zoneID]))
            switch zones[FileRecord.zoneID] {
            case .success?: break
            case .failure(let error)? where error.code != .zoneNotFound: throw error
            case .failure?, nil:
                try await database.save(RecordZone(zoneID: FileRecord.zoneID))
                return nil
            }
        } catch {
            throw ReplayFailure("the feed refused the zone of the files: \(error)")
        }
        return try await learnRecords()
    }

    private mutating func learnRecords() async throws(ReplayFailure) -> ReplayMarker? {
        var token: ZoneChangeToken?
        while true {
            let page: ZoneChanges
            do {
                page = try await database.recordZoneChanges(.init(zoneID: FileRecord.zoneID, since: token))
            } catch {
                throw ReplayFailure("what an earlier replay wrote could not be read: \(error)")
            }
            for change in page.changes {
                switch change {
                case .modified(let record): records[try FileRecord.read(record).path] = record
                case .deleted(let deletion): records = records.filter { $0.value.recordID != deletion.recordID }
                case .failed(let recordID, let error):
                    throw ReplayFailure("the record \"\(recordID)\" of an earlier replay could not be read: \(error)")
                }
            }
            if page.moreComing {
                guard page.changeToken != token else {
                    throw ReplayFailure("the writer was told that more is coming, and given nothing new")
                }
                token = page.changeToken
                continue
            }
            if page.clientChangeTokenData == nil, records.isEmpty { return nil }
            guard let marker = page.clientChangeTokenData.flatMap({ ReplayMarker(data: $0) }) else {
                throw ReplayFailure("the zone \"\(FileRecord.zoneID)\" of the store was not written by a replay")
            }
            return marker
        }
    }

    /// The changes of a commit in the requests that write it: removals first, so that what is live is a tree after
    /// each request (a file goes before the folder that takes its name comes), both by the bytes of their paths. So many
    /// as are `written` already are left out from the front.
    func batches(of commit: GitCommit, after written: Int = 0) -> [[GitChange]] {
        var removals: [GitChange] = []
        var puts: [GitChange] = []
        for change in commit.changes {
            if case .remove = change { removals.append(change) } else { puts.append(change) }
        }
        removals.sort { $0.path.lexicographicallyPrecedes($1.path) }
        puts.sort { $0.path.lexicographicallyPrecedes($1.path) }

        var batches: [[GitChange]] = []
        var batch: [GitChange] = []
        var bytes = 0
        for change in (removals + puts).dropFirst(written) {
            let more = Self.mostBytes(of: change)
            if !batch.isEmpty, batch.count == batchLimit || bytes > byteLimit - more {
                batches.append(batch)
                batch.removeAll()
                bytes = 0
            }
            batch.append(change)
            bytes += more
        }
        if !batch.isEmpty { batches.append(batch) }
        return batches
    }

    /// Writes one of the batches of a commit. The zone keeps with it how far the commit is written then.
    ///
    /// - Throws: a `ReplayFailure` unless the server has confirmed every single item.
    mutating func write(_ batch: [GitChange], marking marker: ReplayMarker) async throws(ReplayFailure) {
        let commitID = marker.commitID
        var request = RecordModifyRequest(clientChangeTokenData: marker.data)
        var savedPaths: [[UInt8]] = []
        var deletedPaths: [[UInt8]] = []
        for change in batch {
            switch change {
            case .put(let path, let file):
                request.saving.append(record(for: path, file))
                savedPaths.append(path)
            case .remove(let path):
                guard let record = records[path] else {
                    throw ReplayFailure("the commit \(commitID) removes \(quoted(path)), which no commit has put there")
                }
                request.deleting.append(
                    .init(recordID: record.recordID, recordChangeTag: record.recordChangeTag)
                )
                deletedPaths.append(path)
            }
        }

        let results: RecordModifyResults
        do {
            results = try await database.modifyRecords(request)
        } catch {
            throw ReplayFailure("the feed refused to write the commit \(commitID): \(error)")
        }
        let saved = try Self.savedRecords(results, of: request, commitID: commitID)
        for (path, record) in zip(savedPaths, saved) { records[path] = record }
        for path in deletedPaths { records[path] = nil }
        saves += savedPaths.count
        deletes += deletedPaths.count
    }

    private func record(for path: [UInt8], _ file: GitFile) -> Record {
        guard var record = records[path] else { return FileRecord.make(for: path, file) }
        FileRecord.set(file, in: &record)
        return record
    }

    /// The records as the server has them now, after one good result for each item in the order of the request. What
    /// went wrong with an item itself says more than that the rest of its batch went with it.
    private static func savedRecords(
        _ results: RecordModifyResults, of request: RecordModifyRequest, commitID: String
    ) throws(ReplayFailure) -> [Record] {
        let errors = results.errors.values
        if let error = errors.first(where: { $0.code != .batchRequestFailed }) ?? errors.first {
            throw ReplayFailure("the feed refused a file of the commit \(commitID): \(error)")
        }
        let records = results.saves.compactMap { try? $0.result.get() }
        let isComplete =
            records.map(\.recordID) == request.saving.map(\.recordID)
            && results.deletions.map(\.recordID) == request.deleting.map(\.recordID)
        guard isComplete else {
            throw ReplayFailure("the feed did not answer for every file of the commit \(commitID)")
        }
        return records
    }

    private static func mostBytes(of change: GitChange) -> Int {
        switch change {
        case .put(let path, let file): FileRecord.mostBytes(for: path, file)
        case .remove: 0
        }
    }

    private func quoted(_ path: [UInt8]) -> String {
        "\"\(PathText.printable(path))\""
    }
}
