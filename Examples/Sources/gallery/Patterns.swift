import Foundation

extension Pictures {
    @Sendable static func fractal(_ x: Double, _ y: Double) -> Color {
        let (a, b) = (x * 3 - 2.1, (y - 0.5) * 2)
        var (real, imaginary, steps) = (0.0, 0.0, 0)
        while real * real + imaginary * imaginary < 4, steps < 60 {
            (real, imaginary) = (real * real - imaginary * imaginary + a, 2 * real * imaginary + b)
            steps += 1
        }
        guard steps < 60 else { return (0.02, 0.02, 0.08) }
        return mix((0.05, 0.1, 0.4), (1, 0.9, 0.5), sqrt(Double(steps) / 60))
    }

    @Sendable static func ball(_ x: Double, _ y: Double) -> Color {
        let (dx, dy) = ((x - 0.5) * 4 / 3, y - 0.48)
        let distance = hypot(dx, dy) / 0.36
        guard distance < 1 else {
            let shadow = exp(-pow((x - 0.55) * 4, 2) - pow((y - 0.88) * 16, 2))
            return mix((0.86, 0.88, 0.92), (0.4, 0.42, 0.5), shadow)
        }
        let height = sqrt(1 - distance * distance)
        let light = max(0, (-dx * 1.4 - dy * 1.7 + height * 0.8) / 1.4)
        return mix(mix((0.25, 0.02, 0.1), (0.95, 0.25, 0.35), light * 1.2), (1, 1, 1), pow(light, 12) * 2)
    }

    @Sendable static func floor(_ x: Double, _ y: Double) -> Color {
        guard y > 0.4 else { return mix((0.2, 0.25, 0.5), (0.85, 0.75, 0.8), y * 2.5) }
        let depth = 0.35 / (y - 0.38)
        let isDark = (Int((x - 0.5) * depth * 6 + 100) + Int(depth * 4)) % 2 == 0
        return mix(isDark ? (0.12, 0.12, 0.16) : (0.96, 0.94, 0.9), (0.85, 0.75, 0.8), depth / 14)
    }

    @Sendable static func waves(_ x: Double, _ y: Double) -> Color {
        let sum = sin(hypot(x - 0.25, y - 0.3) * 70) + sin(hypot(x - 0.75, y - 0.65) * 70)
        return mix((0.02, 0.2, 0.35), (0.75, 0.97, 0.95), sum / 4 + 0.5)
    }

    @Sendable static func spiral(_ x: Double, _ y: Double) -> Color {
        let (angle, distance) = (atan2(y - 0.5, x - 0.5), hypot(x - 0.5, y - 0.5))
        let share = sin(angle * 3 + log(distance + 0.02) * 9)
        return mix(mix((0.98, 0.82, 0.2), (0.85, 0.25, 0.1), share * 4 + 0.5), (0.3, 0.05, 0.15), distance * 1.3)
    }

    @Sendable static func poster(_ x: Double, _ y: Double) -> Color {
        let shapes: [(Color, Bool)] = [
            ((0.93, 0.78, 0.2), hypot((x - 0.34) * 0.67, y - 0.3) < 0.17),
            ((0.15, 0.35, 0.6), x > 0.55 && y > 0.36 && y < 0.8),
            ((0.82, 0.22, 0.18), y > 0.55 && x + (y - 0.55) * 0.9 < 0.62),
            ((0.1, 0.1, 0.12), abs(y - x * 0.3 - 0.52) < 0.012),
        ]
        return shapes.last { $0.1 }?.0 ?? (0.95, 0.92, 0.84)
    }

    @Sendable static func weave(_ x: Double, _ y: Double) -> Color {
        let (across, down) = (x * 24, y * 12)
        let isOver = (Int(across) + Int(down)) % 2 == 0
        let bend = sin((isOver ? across : down).truncatingRemainder(dividingBy: 1) * .pi)
        return mix((0.1, 0.12, 0.2), isOver ? (0.3, 0.55, 0.6) : (0.85, 0.6, 0.45), 0.35 + bend * 0.65)
    }
}
