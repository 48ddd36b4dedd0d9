import ChangeFeed

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The program `changefeed-benchmarks`: measures the feed beside plain Swift and raw SQLite that do the same work.
@main
struct Main {
    /// All that can be measured, in the order in which it is.
    private static let workloads: [any Workload] = [
        MemoryWriteWorkload(),
        MemoryFirstReadWorkload(),
        MemoryOneChangeWorkload(),
        MemoryOneZoneWorkload(),
        MemorySizeWorkload(),
        SQLiteWriteWorkload(),
        SQLiteFirstReadWorkload(),
        SQLiteOneChangeWorkload(),
        SQLiteOneZoneWorkload(),
        SQLiteSizeWorkload(),
        SQLiteGroupCommitWorkload(),
        SQLiteTombstonesWorkload(),
        EngineFetchWorkload(),
        EngineDrainWorkload(),
        EnginePersistWorkload(),
        ParentWorkload(),
        CascadeWorkload(),
        CompactionWorkload(),
    ]

    static func main() async {
        exit(await run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Gives 0 where all went well, 1 where a measurement failed, 2 for arguments that cannot be followed.
    private static func run(_ arguments: [String]) async -> Int32 {
        let options: Options
        do throws(UsageError) {
            options = try Options(parsing: arguments, ids: workloads.flatMap(\.ids))
        } catch {
            complain("changefeed-benchmarks: \(error.sentence)\n")
            return 2
        }
        if options.asksForHelp {
            print(Options.help(ids: workloads.flatMap(\.ids)))
            return 0
        }
        do {
            let report = Report(figures: try await figures(options))
            print(options.asksForJSON ? try report.json() : report.table)
            return 0
        } catch {
            complain("changefeed-benchmarks: \(error)\n")
            return 1
        }
    }

    private static func figures(_ options: Options) async throws -> [Figure] {
        var figures: [Figure] = []
        for workload in workloads {
            let ids = workload.ids.filter(options.wants)
            guard !ids.isEmpty else { continue }
            let session = Session(ids: Set(ids), isQuick: options.isQuick)
            figures += try await workload.run(in: session).filter { options.wants($0.id) }
        }
        return figures
    }
}
