import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The values of a progress", .limited)
struct ProgressMeterTests {
    private func snapshot(
        _ status: RequestStatus = .resumed, _ phase: RequestProgress.Phase? = .download, up: (UInt64, UInt64?)? = nil,
        down: (UInt64, UInt64?)? = nil, isFinal: Bool = false, error: RequestError? = nil
    ) -> ProgressSnapshot {
        ProgressSnapshot(
            status: status, phase: phase, uploaded: up.map { TransferProgress(completed: $0.0, total: $0.1) },
            downloaded: down.map { TransferProgress(completed: $0.0, total: $0.1) }, isFinal: isFinal, error: error)
    }

    @Test("The rate is that of the bytes, and gives the remaining time")
    func rate() {
        var meter = ProgressMeter(only: nil, first: .download)
        meter.update(with: snapshot(), at: .zero)
        #expect(meter.values.fraction == nil && meter.values.totalBytes == nil && !meter.isMoving)
        meter.update(with: snapshot(down: (0, 4_000)), at: .seconds(1))
        #expect(meter.values.fraction == 0 && meter.values.bytesPerSecond == nil && meter.values.timeLeft == nil)
        meter.update(with: snapshot(down: (1_000, 4_000)), at: .seconds(2))
        #expect(meter.values.fraction == 0.25 && meter.values.completedBytes == 1_000)
        #expect(meter.values.bytesPerSecond == 1_000 && meter.values.timeLeft == .seconds(3) && meter.isMoving)
    }

    @Test("Bytes of a partial file do not count for the rate")
    func partialFile() {
        var meter = ProgressMeter(only: nil, first: .download)
        meter.update(with: snapshot(), at: .zero)
        meter.update(with: snapshot(down: (40_000, 100_000)), at: .seconds(1))
        #expect(meter.values.bytesPerSecond == nil && meter.values.fraction == 0.4)
        meter.update(with: snapshot(down: (41_000, 100_000)), at: .seconds(2))
        #expect(meter.values.bytesPerSecond == 1_000)
    }

    @Test("A transfer that stands still slows down to zero, and then has no remaining time")
    func stall() throws {
        var meter = ProgressMeter(only: nil, first: .download)
        meter.update(with: snapshot(down: (0, 4_000)), at: .zero)
        meter.update(with: snapshot(down: (1_000, 4_000)), at: .seconds(1))
        var rates = [try #require(meter.values.bytesPerSecond)]
        for second in 2..<60 where meter.isMoving {
            meter.update(with: snapshot(down: (1_000, 4_000)), at: .seconds(second))
            rates.append(try #require(meter.values.bytesPerSecond))
        }
        #expect(rates.count > 5 && rates == rates.sorted(by: >) && Set(rates).count == rates.count)
        #expect(rates.last == 0 && meter.values.timeLeft == nil)
    }

    @Test("A suspended request has no rate, and the time of the suspension does not count")
    func suspended() {
        var meter = ProgressMeter(only: nil, first: .download)
        meter.update(with: snapshot(down: (0, 4_000)), at: .zero)
        meter.update(with: snapshot(down: (1_000, 4_000)), at: .seconds(1))
        meter.update(with: snapshot(.suspended, down: (1_000, 4_000)), at: .seconds(2))
        #expect(meter.values.status == .suspended && meter.values.bytesPerSecond == nil && !meter.isMoving)
        #expect(meter.values.timeLeft == nil && meter.values.fraction == 0.25)
        meter.update(with: snapshot(down: (1_000, 4_000)), at: .seconds(100))
        meter.update(with: snapshot(down: (2_000, 4_000)), at: .seconds(101))
        #expect(meter.values.bytesPerSecond == 1_000)
    }

    @Test("The phase follows the request, or stays as chosen; each phase has its own rate")
    func phases() {
        var meter = ProgressMeter(only: nil, first: .upload)
        var upload = ProgressMeter(only: .upload, first: .download)
        meter.update(with: snapshot(.initialized, nil), at: .zero)
        #expect(meter.values.phase == .upload && upload.values.phase == .upload)
        for index in [0, 1] as [UInt64] {
            let snapshot = snapshot(.resumed, .upload, up: (index * 50, 100))
            meter.update(with: snapshot, at: .seconds(index))
            upload.update(with: snapshot, at: .seconds(index))
        }
        #expect(meter.values.fraction == 0.5 && meter.values.bytesPerSecond == 50)
        let head = snapshot(.resumed, .download, up: (100, 100), down: (0, 7))
        meter.update(with: head, at: .seconds(2))
        upload.update(with: head, at: .seconds(2))
        #expect(meter.values.phase == .download && meter.values.fraction == 0 && meter.values.bytesPerSecond == nil)
        #expect(upload.values.phase == .upload && upload.values.fraction == 1 && upload.values.bytesPerSecond == 50)
    }

    @Test("A success is complete, also without a declared length or a body; a failure keeps what it has")
    func end() {
        func last(down: (UInt64, UInt64?)?, error: RequestError? = nil) -> ProgressValues {
            var meter = ProgressMeter(only: nil, first: .download)
            meter.update(with: snapshot(.finished, down: down, isFinal: true, error: error), at: .zero)
            return meter.values
        }
        #expect(last(down: (5, nil)).fraction == 1 && last(down: (5, nil)).totalBytes == 5)
        #expect(last(down: nil).fraction == 1 && last(down: nil).totalBytes == 0)
        #expect(last(down: (5, 5)).fraction == 1)
        let failed = last(down: (5, 10), error: .requestCancelled)
        #expect(failed.fraction == 0.5 && failed.error?.isCancelled == true && failed.bytesPerSecond == nil)
        #expect(last(down: (5, nil), error: .requestCancelled).fraction == nil)
    }

    @Test("A server that declares a huge length and sends slowly gives no remaining time, and does not crash")
    func hugeLength() {
        var rate = TransferRate()
        let start = ContinuousClock.now
        rate.update(0, at: start)
        rate.update(1, at: start + .seconds(1_000))
        #expect(rate.bytesPerSecond == 0.001)
        #expect(rate.timeLeft(of: TransferProgress(completed: 1, total: .max)) == nil)
        #expect(rate.timeLeft(of: TransferProgress(completed: 1, total: 2)) == .seconds(1_000))
    }

    @Test("Changes within a tenth of a second are one update, which a timer makes")
    func pacer() {
        var pacer = UpdatePacer()
        let steps = [0, 30, 60, 99, 100, 250, 2_000].map { pacer.changed(at: .milliseconds($0)) }
        // The second step asks for a timer, which serves the third change, too, and fires a little early.
        let expected: [UpdatePacer.Step] = [
            .update, .wait(.milliseconds(70)), .none, .update, .wait(.milliseconds(99)), .update, .update,
        ]
        #expect(steps == expected)
    }
}
