#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The program `changefeed`.
@main
struct Main {
    static func main() async {
        BrokenPipes.arriveAsErrors()
        let tool = ChangeFeedTool(subcommands: [.replay, .inspect, .simulate], console: StandardConsole())
        exit(await tool.run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }
}
