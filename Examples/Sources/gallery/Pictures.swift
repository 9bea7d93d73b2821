import Foundation

/// The pictures of the server: each is a formula, from which a file is made for each request.
enum Pictures {
    typealias Color = (Double, Double, Double)

    static let files: [(name: String, file: PNGFile)] = [
        ("aurora", PNGFile(width: 240, height: 160, color: aurora)),
        ("sunrise", PNGFile(width: 240, height: 180, color: sunrise)),
        ("hills", PNGFile(width: 240, height: 160, color: hills)),
        ("moon", PNGFile(width: 180, height: 180, color: moon)),
        ("fractal", PNGFile(width: 240, height: 160, color: fractal)),
        ("ball", PNGFile(width: 200, height: 150, color: ball)),
        ("floor", PNGFile(width: 240, height: 160, color: floor)),
        ("waves", PNGFile(width: 200, height: 200, color: waves)),
        ("spiral", PNGFile(width: 180, height: 180, color: spiral)),
        ("poster", PNGFile(width: 120, height: 180, color: poster)),
        ("weave", PNGFile(width: 240, height: 120, color: weave)),
        (
            "dot",
            PNGFile(
                width: 32, height: 32, color: { x, y in hypot(x - 0.5, y - 0.5) < 0.4 ? (0.9, 0.2, 0.2) : (1, 1, 1) })
        ),
    ]

    static func mix(_ a: Color, _ b: Color, _ share: Double) -> Color {
        let share = max(0, min(1, share))
        return (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share, a.2 + (b.2 - a.2) * share)
    }

    @Sendable private static func aurora(_ x: Double, _ y: Double) -> Color {
        let curtain = 0.35 + 0.12 * sin(x * 7) + 0.05 * sin(x * 17 + 1)
        let glow = exp(-pow((y - curtain) * (y > curtain ? 9 : 4), 2)) * (0.7 + 0.3 * sin(x * 60))
        let sky = mix((0.02, 0.03, 0.12), (0.05, 0.12, 0.25), y)
        return y > 0.86 + 0.04 * sin(x * 23) ? (0.01, 0.02, 0.04) : mix(sky, (0.25, 0.95, 0.55), glow)
    }

    @Sendable private static func sunrise(_ x: Double, _ y: Double) -> Color {
        let distance = hypot((x - 0.5) * 1.33, y - 0.6)
        if y < 0.62 {
            if distance < 0.16 { return (1, 0.93, 0.62) }
            return mix((1, 0.62, 0.3), (0.25, 0.2, 0.5), distance * 1.6)
        }
        let glitter = abs(x - 0.5) < 0.1 + 0.25 * (y - 0.62) && sin(y * 190 + sin(x * 40) * 2) > 0.1
        return glitter ? (1, 0.75, 0.45) : mix((0.55, 0.3, 0.42), (0.1, 0.1, 0.3), (y - 0.62) * 3)
    }

    @Sendable private static func hills(_ x: Double, _ y: Double) -> Color {
        var color = mix((0.45, 0.7, 0.95), (0.93, 0.96, 0.98), y * 1.8)
        for layer in 0..<5 {
            let depth = Double(layer)
            let edge = 0.38 + depth * 0.12 + 0.07 * sin(x * (4 + depth * 2) + depth * 2.3) + 0.02 * sin(x * 19 + depth)
            if y > edge { color = mix((0.6, 0.75, 0.78), (0.1, 0.36, 0.16), depth / 4) }
        }
        return color
    }

    @Sendable private static func moon(_ x: Double, _ y: Double) -> Color {
        let craters = [(0.42, 0.4, 0.07), (0.6, 0.55, 0.1), (0.45, 0.66, 0.05), (0.62, 0.33, 0.04)]
        let night: Color = (0.03, 0.03, 0.1)
        let distance = hypot(x - 0.5, y - 0.5)
        guard distance < 0.34 else {
            return sin(x * 911 + y * 397) * sin(x * 613 - y * 811) > 0.97 ? (1, 1, 0.9) : night
        }
        let isCrater = craters.contains { hypot(x - $0.0, y - $0.1) < $0.2 }
        let light = 0.35 + 1.1 * (0.84 - x) + (isCrater ? -0.12 : 0)
        return mix(night, (0.97, 0.95, 0.85), light)
    }
}
