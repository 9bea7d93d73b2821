"""Draws the modules of a package as SVG, for `.ci/steps/edges --map`."""
import json
import subprocess

STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
    rect { fill: #eef3fb; stroke: #5b7bb4; rx: 6px }
    .c rect { fill: #f1f1ef; stroke: #8b8b85 }
    .top rect { fill: #dcebdc; stroke: #4f8a55 }
    path { fill: none; stroke: #7d8590; stroke-width: 1.2 }
    .head { fill: #7d8590; stroke: none }
    @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3 }
        rect { fill: #1c2b45; stroke: #6f92d2 }
        .c rect { fill: #2b2b29; stroke: #8b8b85 }
        .top rect { fill: #1d3522; stroke: #62a56a }
    }
"""


def layers_of(after):
    layer = {}

    def height(name):
        if name not in layer:
            layer[name] = 1 + max((height(other) for other in after[name]), default=-1)
        return layer[name]

    for name in after:
        height(name)
    return layer


def modules_of():
    """The modules of the manifest, without those of tests: the modules that each depends on."""
    manifest = json.loads(subprocess.run(
        ["swift", "package", "dump-package"], check=True, capture_output=True, text=True).stdout)
    return {
        target["name"]: {(one.get("byName") or one.get("target"))[0] for one in target["dependencies"]}
        for target in manifest["targets"]
        if target["type"] == "regular" and not (target.get("path") or "").startswith("Tests/")
    }


class Box:
    """A module, or the place where a long edge crosses a layer."""

    def __init__(self, name, layer):
        self.name, self.layer = name, layer
        self.width = 16 + 7.6 * len(name) if name else 6
        self.x, self.near = 0.0, []


def layout(after):
    """Boxes by layer, users above what they use, and the chain of boxes for each edge."""
    # An arrow to a module that other arrows lead to as well is left out.
    def below(name):
        return {name}.union(*(below(other) for other in after[name]))

    edges = [(name, other) for name in after for other in after[name]
             if not any(other in below(middle) for middle in after[name] - {other})]
    layer = layers_of(after)
    for name in sorted(after, key=layer.get, reverse=True):
        users = [layer[user] for user, other in edges if other == name]
        if users:
            layer[name] = min(users) - 1
    rows = [[] for _ in range(max(layer.values()) + 1)]
    boxes = {name: Box(name, layer[name]) for name in sorted(after)}
    for box in boxes.values():
        rows[box.layer].append(box)
    chains = []
    for user, other in sorted(edges):
        chain = [boxes[user]]
        for level in range(layer[user] - 1, layer[other], -1):
            chain.append(Box("", level))
            rows[level].append(chain[-1])
        chains.append(chain + [boxes[other]])
    for chain in chains:
        for one, next in zip(chain, chain[1:]):
            one.near.append(next)
            next.near.append(one)
    for _ in range(24):
        for row in rows[::-1] + rows:
            wanted = {id(box): sum(one.x for one in box.near) / len(box.near) if box.near else box.x for box in row}
            row.sort(key=lambda box: wanted[id(box)])
            place(row, wanted)
    return rows, chains


def place(row, wanted):
    """Puts boxes as close to where they are wanted as their widths allow, in order."""
    groups = []  # boxes that touch: (boxes, offset of each, place of the first)
    for box in row:
        group = ([box], [0.0], wanted[id(box)])
        while groups:
            boxes, offsets, start = groups[-1]
            gap = offsets[-1] + boxes[-1].width / 2 + 22 + group[0][0].width / 2
            if start + gap <= group[2]:
                break
            groups.pop()
            both = boxes + group[0]
            offsets = offsets + [gap + offset for offset in group[1]]
            group = (both, offsets, sum(wanted[id(one)] - offset for one, offset in zip(both, offsets)) / len(both))
        groups.append(group)
    for boxes, offsets, start in groups:
        for one, offset in zip(boxes, offsets):
            one.x = start + offset


def picture(after):
    rows, chains = layout(after)
    boxes = [box for row in rows for box in row]
    left = min(box.x - box.width / 2 for box in boxes) - 12
    width = max(box.x + box.width / 2 for box in boxes) + 12 - left
    step, tall = 62, 30

    def x(box):
        return round(box.x - left, 1)

    def y(box):
        return (len(rows) - 1 - box.layer) * step + 12 + tall / 2

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {len(rows) * step - step + tall + 24}" '
           f'width="{width:.0f}" role="img" aria-label="The modules: each depends on those that its arrows point to">',
           f"<style>{STYLE}</style>"]
    for chain in chains:
        at = y(chain[0]) + tall / 2
        d = f"M{x(chain[0])} {at}"
        for one, next in zip(chain, chain[1:]):
            to = y(next) - (tall / 2 + 6 if next.name else 0)
            start = at if one is chain[0] else y(one)
            middle = (start + to) / 2
            d += f"C{x(one)} {middle} {x(next)} {middle} {x(next)} {to}"
        out.append(f'<path d="{d}"/>')
        out.append(f'<path class="head" d="M{x(chain[-1])} {to + 6}l-4 -8h8z"/>')
    for box in boxes:
        if box.name:
            kind = "c" if not box.name.startswith("Larkspur") else "top" if box.name == "Larkspur" else "module"
            out.append(f'<g class="{kind}"><rect x="{x(box) - box.width / 2:.1f}" y="{y(box) - tall / 2}" '
                       f'width="{box.width:.1f}" height="{tall}"/><text x="{x(box)}" y="{y(box) + 4.5}">{box.name}</text></g>')
    return "\n".join(out + ["</svg>", ""])
