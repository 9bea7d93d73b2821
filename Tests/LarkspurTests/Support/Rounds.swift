import CTestWidth

/// Returns the number of rounds of a test with random input: a fifth of `usual`, or if the environment variable
/// `LARKSPUR_NIGHTLY` is a number, `nightly` divided by it, but at least `usual`.
func rounds(_ usual: Int, nightly: Int) -> Int { test_rounds(usual, nightly) }
