import ChangeFeedTesting
import Foundation

/// What a disk would hold after a loss of power: for each file what was synced last, and in order what was done since.
///
/// Its rules are those of a journaling file system without write barriers of its own: nothing unsynced is promised,
/// writes reach the disk in any order and sector by sector, bytes beside a write are never harmed. Names are settled, all
/// of them, when a directory is synced: with a durable deletion, and with the first sync of a file that is new.
struct SimulatedDisk {
    enum Change: Equatable {
        case create
        case write(offset: Int, bytes: Data)
        case truncate(size: Int)
        case delete

        fileprivate var isOfNames: Bool { self == .create || self == .delete }
    }

    struct Loss: Equatable {
        /// Content by path, nil where no file is left.
        var files: [String: Data?] = [:]
        /// How many changes did not reach the disk, or not as a whole.
        var lostChanges = 0
    }

    fileprivate enum Standing {
        /// May or may not be on the disk; the next sync settles it.
        case unsynced
        /// Its sync failed, so the system believes it written and no later sync writes it again.
        case doubtful
        /// On the disk; kept in order only for what is doubtful before it.
        case synced
    }

    fileprivate struct Entry {
        let change: Change
        var standing = Standing.unsynced
    }

    fileprivate struct File {
        /// What is surely on the disk before the entries; nil when no such name is.
        var durable: Data?
        var entries: [Entry] = []
    }

    private var files: [String: File] = [:]

    /// Notes a change that was done, or may be in part.
    mutating func note(_ change: Change, at path: String) {
        files[path, default: File()].entries.append(Entry(change: change))
    }

    /// Takes the content a file has, where it is not what the changes noted amount to: then somebody else wrote it, and
    /// what became of that is not simulated.
    mutating func adopt(_ content: Data?, at path: String) {
        let file = files[path, default: File()]
        var expected = file.durable
        for entry in file.entries { entry.change.apply(to: &expected) }
        guard expected != content else { return }
        files[path] = File(durable: content)
    }

    mutating func sync(_ path: String) {
        guard let file = files[path] else { return }
        if file.entries.contains(where: { $0.change.isOfNames && $0.standing == .unsynced }) { syncNames() }
        update(path) { file in
            if file.entries.contains(where: { $0.standing == .doubtful }) {
                file.settle(from: .unsynced, to: .synced)
            } else {
                for entry in file.entries { entry.change.apply(to: &file.durable) }
                file.entries = []
            }
        }
    }

    mutating func syncFailed(_ path: String) {
        update(path) { $0.settle(from: .unsynced, to: .doubtful) }
    }

    /// Settles which files there are, but nothing of what is in them.
    mutating func syncNames() {
        for path in files.keys {
            update(path) { file in
                guard let last = file.entries.lastIndex(where: \.change.isOfNames) else { return }
                file.durable = file.entries[last].change == .create ? Data() : nil
                file.entries.removeSubrange(...last)
            }
        }
    }

    /// What is left, chosen by chance from all that may be; afterwards nothing is known of any file.
    mutating func losePower(using chance: inout SeededGenerator) -> Loss {
        defer { files = [:] }
        var loss = Loss()
        // In a fixed order, so that a seed tells the same story each time.
        for (path, file) in files.sorted(by: { $0.key < $1.key }) {
            let remains = file.remains(using: &chance)
            loss.files[path] = .some(remains.content)
            loss.lostChanges += remains.lostChanges
        }
        return loss
    }

    private mutating func update(_ path: String, _ change: (inout File) -> Void) {
        guard let index = files.index(forKey: path) else { return }
        change(&files.values[index])
    }
}

// MARK: - What remains of a file

extension SimulatedDisk {
    fileprivate enum Fate: CaseIterable {
        case nothing, everything, beginning, scattered
    }
}

extension SimulatedDisk.File {
    fileprivate mutating func settle(from: SimulatedDisk.Standing, to: SimulatedDisk.Standing) {
        for index in entries.indices where entries[index].standing == from { entries[index].standing = to }
    }

    fileprivate func remains(
        using chance: inout SeededGenerator
    ) -> (content: Data?, lostChanges: Int) {
        guard !entries.isEmpty, let fate = SimulatedDisk.Fate.allCases.randomElement(using: &chance) else {
            return (durable, 0)
        }
        let reach = self.reach(of: fate, using: &chance)
        var (content, lost) = (reach.content, entries.count - reach.entries.endIndex)
        let end = chance.next(in: reach.entries.startIndex...reach.entries.endIndex)
        for (index, entry) in zip(reach.entries.indices, reach.entries) {
            let isWhole =
                switch fate {
                case _ where entry.standing == .synced: true
                case .nothing: false
                case .everything: true
                case .beginning: index < end
                case .scattered: false
                }
            if isWhole {
                entry.change.apply(to: &content)
            } else {
                lost += 1
                let mayBeTorn = fate == .scattered || fate == .beginning && index == end
                if mayBeTorn { entry.change.applyTorn(to: &content, using: &chance) }
            }
        }
        return (content, lost)
    }

    /// How far the disk got with creating and deleting the file: what it then held, and what was done to that one.
    private func reach(
        of fate: SimulatedDisk.Fate, using chance: inout SeededGenerator
    ) -> (content: Data?, entries: ArraySlice<SimulatedDisk.Entry>) {
        let names = entries.indices.filter { entries[$0].change.isOfNames }
        let settled = (names.lastIndex { entries[$0].standing == .synced } ?? -1) + 1
        let reached =
            switch fate {
            case .nothing: settled
            case .everything: names.count
            case .beginning, .scattered: chance.next(in: settled...names.count)
            }
        let end = reached == names.count ? entries.endIndex : names[reached]
        guard reached > 0 else { return (durable, entries[..<end]) }
        let last = names[reached - 1]
        return (entries[last].change == .create ? Data() : nil, entries[(last + 1)..<end])
    }
}

extension SimulatedDisk.Change {
    private static let sectorSize = 512

    fileprivate func apply(to content: inout Data?) {
        switch self {
        case .create: content = content ?? Data()
        case .delete: content = nil
        case .write(let offset, let bytes): content?.write(bytes, at: offset)
        case .truncate(let size): content?.resize(to: size)
        }
    }

    fileprivate func applyTorn(to content: inout Data?, using chance: inout SeededGenerator) {
        guard case .write(let offset, let bytes) = self else {
            if chance.next(in: 0...1) == 1 { apply(to: &content) }
            return
        }
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, ((offset + start) / Self.sectorSize + 1) * Self.sectorSize - offset)
            if chance.next(in: 0...1) == 1 { content?.write(bytes[start..<end], at: offset + start) }
            start = end
        }
    }
}

extension Data {
    fileprivate mutating func write(_ bytes: Data, at offset: Int) {
        if count < offset + bytes.count { resize(to: offset + bytes.count) }
        replaceSubrange(offset..<(offset + bytes.count), with: bytes)
    }

    fileprivate mutating func resize(to size: Int) {
        if size < count {
            removeSubrange(size...)
        } else {
            append(Data(count: size - count))
        }
    }
}
