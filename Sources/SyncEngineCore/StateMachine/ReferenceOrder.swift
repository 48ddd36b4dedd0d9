/// Puts items that link to each other in an order in which every item comes after those that it needs.
enum ReferenceOrder {
    /// Groups of items in that order. A group has more than one item where they need each other in a circle. Items
    /// that need nothing of each other keep their order.
    ///
    /// - Parameter needs: For each item, the indices of the items that it needs.
    static func groups(needs: [[Int]]) -> [[Int]] {
        // Tarjan's strongly connected components, which come out with what is needed first. With a stack of its own,
        // because a chain may be as long as a batch.
        let count = needs.count
        var order = [Int](repeating: -1, count: count)
        var low = [Int](repeating: 0, count: count)
        var isOpen = [Bool](repeating: false, count: count)
        var open: [Int] = []
        var groups: [[Int]] = []
        var nextOrder = 0
        var path: [(item: Int, nextNeed: Int)] = []

        for root in 0..<count where order[root] < 0 {
            path.append((root, 0))
            while let (item, nextNeed) = path.last {
                if nextNeed == 0 {
                    order[item] = nextOrder
                    low[item] = nextOrder
                    nextOrder += 1
                    open.append(item)
                    isOpen[item] = true
                }
                if nextNeed < needs[item].count {
                    path[path.count - 1].nextNeed += 1
                    let need = needs[item][nextNeed]
                    if order[need] < 0 {
                        path.append((need, 0))
                    } else if isOpen[need] {
                        low[item] = min(low[item], order[need])
                    }
                    continue
                }
                path.removeLast()
                if let above = path.last?.item { low[above] = min(low[above], low[item]) }
                guard low[item] == order[item] else { continue }
                var group: [Int] = []
                while let member = open.popLast() {
                    isOpen[member] = false
                    group.append(member)
                    if member == item { break }
                }
                groups.append(group.sorted())
            }
        }
        return groups
    }

    /// The parts of the items between which there is no link at all, each in order.
    static func components(needs: [[Int]]) -> [[Int]] {
        var root = Array(needs.indices)
        func find(_ item: Int) -> Int {
            var item = item
            while root[item] != item {
                root[item] = root[root[item]]
                item = root[item]
            }
            return item
        }
        for (item, needed) in needs.enumerated() {
            for need in needed {
                let (left, right) = (find(item), find(need))
                root[max(left, right)] = min(left, right)
            }
        }
        var members: [Int: [Int]] = [:]
        for item in needs.indices { members[find(item), default: []].append(item) }
        return needs.indices.compactMap { members[$0] }
    }
}
