import CTestWidth
import Testing

extension Trait where Self == TimeLimitTrait {
    /// The time limit of every suite. It ends a test that waits for an event that never comes.
    ///
    /// The limit is no verdict about speed, because the time of a test depends on the load of the machine. So there is one
    /// limit for all, and the environment variable `LARKSPUR_TIME_SCALE` multiplies it where a run is slow by design.
    public static var limited: Self { .timeLimit(.minutes(3 * test_time_scale())) }
}

extension Trait where Self == ConditionTrait {
    /// Marks a test that measures real time, or that waits for a timer of the kernel. A loaded machine can fail it, so it
    /// runs only if the environment variable `LARKSPUR_TIMING` is set, one test at a time.
    public static var timing: Self {
        .enabled(if: test_keeps_time(), "measures real time: set LARKSPUR_TIMING on an idle machine")
    }
}
