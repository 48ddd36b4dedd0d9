/// Why a replay could not go on though its repository is fine, as one sentence: the feed refused or broke something.
///
/// Not a difference between a device and the tree, which a replay finds and reports when it has come to its end.
struct ReplayFailure: Error, Equatable, CustomStringConvertible {
    let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }

    var description: String { sentence }
}
