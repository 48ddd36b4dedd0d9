import ChangeFeed

extension SQLiteStore {
    /// How a store is opened.
    public struct Configuration: Sendable {
        /// What a store may do with its file.
        public enum Access: Sendable, Hashable {
            /// Reading and writing: one process at a time.
            case readWrite
            /// Reading alone: a file that is there, also while another process writes to it.
            case readOnly
        }

        /// What is sure to be there after a crash.
        public enum Durability: Sendable, Hashable {
            /// What was acknowledged survives the loss of power: every commit waits for the disk.
            case full
            /// What was acknowledged survives the end of the process. The loss of power may take the latest commits,
            /// each as a whole, the latest first.
            case normal
        }

        /// What the store may do with the file; reading and writing by default.
        public var access: Access
        /// What is sure to be there after a crash; everything by default.
        public var durability: Durability
        /// How many can read at the same time, at least 1.
        public var readers: Int
        /// How many bytes of the file the writer keeps in memory, at most; each reader keeps a quarter of it.
        public var cacheSize: Int
        /// How long to wait for a lock of SQLite's that another process holds.
        public var busyTimeout: Duration
        /// Where the identity of a new store comes from.
        public var randomness: @Sendable () -> UInt64

        /// How SQLite gets at files; nil is the system's own way.
        package var fileSystem: String?
        /// How many bits of the hash of names are used.
        package var nameBits = NameHash.bits

        /// By default a store that is written to and loses nothing.
        public init(
            access: Access = .readWrite,
            durability: Durability = .full,
            readers: Int = 4,
            cacheSize: Int = 64 << 20,
            busyTimeout: Duration = .seconds(5),
            randomness: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
        ) {
            self.access = access
            self.durability = durability
            self.readers = readers
            self.cacheSize = cacheSize
            self.busyTimeout = busyTimeout
            self.randomness = randomness
        }
    }
}
