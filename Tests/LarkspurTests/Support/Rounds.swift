import CTestWidth

/// Returns the number of rounds of a test with random input: `nightly` if the environment variable `LARKSPUR_NIGHTLY`
/// is set, else `usual`.
func rounds(_ usual: Int, nightly: Int) -> Int { test_rounds(usual, nightly) }
