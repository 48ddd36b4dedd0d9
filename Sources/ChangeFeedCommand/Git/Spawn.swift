#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Starts the program `arguments[0]`, looked up along `PATH`, with the given standard input, output and error, and
/// with default signal handling: a child inherits ignored and blocked signals otherwise, and would survive a pipe that
/// nobody reads.
func spawn(
    _ arguments: [String],
    environment: [String: String],
    standardDescriptors: [Int32]
) throws(ChildProcess.Failure) -> pid_t {
    #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT
    #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
    }
    for (position, descriptor) in standardDescriptors.enumerated() {
        posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(position))
    }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(flags))

    var argumentPointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    var environmentPointers: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { (argumentPointers + environmentPointers).forEach { free($0) } }
    argumentPointers.append(nil)
    environmentPointers.append(nil)

    var process: pid_t = 0
    let error = posix_spawnp(
        &process,
        arguments[0],
        &actions,
        &attributes,
        argumentPointers,
        environmentPointers
    )
    guard error == 0 else { throw ChildProcess.Failure(number: error) }
    return process
}

/// Waits until `process` is gone and says how it ended.
func wait(for process: pid_t) -> ChildProcess.Ending {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
        // Somebody else has collected it: how it ended is lost, so it does not count as a success.
        if errno != EINTR { return .exited(-1) }
    }
    let signal = status & 0x7f
    return signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal: signal)
}
