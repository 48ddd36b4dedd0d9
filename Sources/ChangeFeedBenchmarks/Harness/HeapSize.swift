#if canImport(Glibc)
    import Glibc
#endif

/// How much of the heap is in use.
enum HeapSize {
    /// The bytes that are allocated, with the allocator's own words beside each block; nil where the C library does
    /// not tell.
    ///
    /// This is what `mallinfo2` calls `uordblks` and `hblkhd` together: the blocks of all arenas, and the large ones,
    /// such as the storage of a long array, that come from `mmap`. Swift does not import `mallinfo2`, and a struct
    /// cannot be returned through a looked-up address, so the numbers are read from the report of `malloc_info`.
    static var bytesInUse: Int? {
        #if canImport(Glibc)
            guard let report = allocatorReport() else { return nil }
            // What all arenas together have is told last; before come the arenas one by one.
            guard let total = size(of: "<system type=\"current\"", in: report),
                let fast = size(of: "<total type=\"fast\"", in: report),
                let rest = size(of: "<total type=\"rest\"", in: report),
                let mapped = size(of: "<total type=\"mmap\"", in: report)
            else { return nil }
            return total - fast - rest + mapped
        #else
            return nil
        #endif
    }

    #if canImport(Glibc)
        private typealias MallocInfo = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt

        /// What glibc's allocator says of itself, in XML.
        private static func allocatorReport() -> String? {
            guard let address = dlsym(nil, "malloc_info") else { return nil }
            // The address is that of the function which glibc declares so.
            let mallocInfo = unsafeBitCast(address, to: MallocInfo.self)
            var text: UnsafeMutablePointer<CChar>?
            var length = 0
            guard let stream = open_memstream(&text, &length) else { return nil }
            let status = mallocInfo(0, stream)
            fclose(stream)
            defer { free(text) }
            guard status == 0, let text else { return nil }
            return String(cString: text)
        }

        /// The size that the last element with such a beginning has.
        private static func size(of element: String, in report: String) -> Int? {
            let line = report.split(separator: "\n").last { $0.hasPrefix(element) }
            guard let parts = line?.split(separator: "\"", omittingEmptySubsequences: false), parts.count >= 2 else {
                return nil
            }
            return Int(parts[parts.count - 2])
        }
    #endif
}
