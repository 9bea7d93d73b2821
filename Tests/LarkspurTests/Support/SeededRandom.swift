import TestSupport

typealias SeededRandom = TestSupport.SeededRandom
