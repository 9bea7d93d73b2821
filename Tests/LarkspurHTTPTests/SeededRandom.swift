import TestSupport

typealias SeededRandom = TestSupport.SeededRandom

extension SeededRandom {
    mutating func next(below bound: Int) -> Int { bound < 1 ? 0 : Int.random(in: 0..<bound, using: &self) }
}
