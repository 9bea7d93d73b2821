"""Draws the results of `run` as one SVG file that needs nothing else: plot.py RESULTS FILE.svg

`run --results FILE` keeps the results. One chart for requests a second and one for CPU time show how the subjects scale
with the number of concurrent requests. A third chart shows the ratio of each scenario's first metric to the floor: for
rates the subject's rate to the floor's, for times the floor's time to the subject's, so more is better in all of them.
Points and bars are medians of the repetitions.
"""

import statistics
import sys
from html import escape

from report import FLOORS, METRICS, MORE_IS_BETTER, lines, read

COLOURS = {"larkspur": "#1b6ca8", "old": "#8fb8d8", "floor": "#444444", "urlsession": "#c8702a"}
WIDTH, HEIGHT, MARGIN = 420, 260, 56
SCALING = [1, 8, 64, 512, 4096]


def medians(path, scenario, metric):
    """Returns each subject's median. The better of the two loops in C is the floor, as in the report."""
    runs, _ = read(path, scenario)
    values = {
        subject: statistics.median(run[metric] for run in all_runs.values()) for subject, all_runs in runs.items() if all_runs
    }
    first = METRICS[scenario][0]
    floors = {name: statistics.median(run[first] for run in runs[name].values()) for name in FLOORS if runs.get(name)}
    if floors:
        best = (max if first in MORE_IS_BETTER else min)(floors, key=floors.get)
        values["floor"] = values[best]
    return {subject: value for subject, value in values.items() if subject in COLOURS}


class Chart:
    """A chart at a position of the page; collects elements of SVG."""

    def __init__(self, left, top, title, width=WIDTH):
        self.left, self.top, self.width = left, top, width
        self.elements = []
        self.text(left + width / 2, top + 20, title, anchor="middle", weight="bold")

    def text(self, x, y, content, anchor="start", weight="normal"):
        self.elements.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(content)}</text>'
        )

    def line(self, points, colour, width=1.0):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.elements.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')

    def axes(self, highest):
        """Draws the axes and four lines of the grid; returns the function from values to heights."""
        bottom, room = self.top + HEIGHT - MARGIN / 2, HEIGHT - MARGIN * 1.2

        def height(value):
            return bottom - room * value / highest

        for step in range(5):
            value = highest * step / 4
            self.line([(self.left + MARGIN, height(value)), (self.left + self.width, height(value))], "#dddddd")
            self.text(self.left + MARGIN - 6, height(value) + 4, f"{value:.3g}", anchor="end")
        return height


def scaling_chart(path, left, top, metric, title):
    chart = Chart(left, top, title)
    series = {}
    for concurrency in SCALING:
        for subject, value in medians(path, f"scaling-{concurrency}", metric).items():
            series.setdefault(subject, {})[concurrency] = value
    if not series:
        return ""
    height = chart.axes(max(max(values.values()) for values in series.values()) * 1.05)
    step = (WIDTH - MARGIN * 1.5) / (len(SCALING) - 1)
    position = {concurrency: left + MARGIN * 1.2 + step * index for index, concurrency in enumerate(SCALING)}
    for concurrency, x in position.items():
        chart.text(x, top + HEIGHT - MARGIN / 2 + 16, str(concurrency), anchor="middle")
    for subject, values in series.items():
        points = [(position[concurrency], height(value)) for concurrency, value in values.items()]
        chart.line(points, COLOURS[subject], 2)
        for x, y in points:
            chart.elements.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[subject]}"/>')
    return "\n".join(chart.elements)


def ratio_chart(path, top, scenarios, width):
    chart = Chart(0, top, "Ratio to the loop in C (more is better)", width)
    bars = []
    for scenario in scenarios:
        metric = METRICS[scenario][0]
        values = medians(path, scenario, metric)
        floor = values.pop("floor", 0)
        ratios = {
            subject: value / floor if metric in MORE_IS_BETTER else floor / value
            for subject, value in values.items()
            if floor and value
        }
        if ratios:
            bars.append((scenario, metric, ratios))
    if not bars:
        return ""
    height = chart.axes(max(max(ratios.values()) for _, _, ratios in bars) * 1.05)
    room = (width - MARGIN * 1.2) / len(bars)
    for index, (scenario, metric, ratios) in enumerate(bars):
        start = MARGIN * 1.1 + room * index
        thickness = room * 0.8 / len(ratios)
        for number, (subject, ratio) in enumerate(ratios.items()):
            chart.elements.append(
                f'<rect x="{start + number * thickness:.1f}" y="{height(ratio):.1f}" width="{thickness * 0.9:.1f}"'
                f' height="{height(0) - height(ratio):.1f}" fill="{COLOURS[subject]}">'
                f"<title>{escape(scenario)} {escape(metric)}: {escape(subject)} {ratio:.2f}</title></rect>"
            )
        chart.text(start + room * 0.4, top + HEIGHT - MARGIN / 2 + 16, scenario, anchor="middle")
    return "\n".join(chart.elements)


def main():
    path, target = sys.argv[1:]
    seen = dict.fromkeys(run["scenario"] for run in lines(path))
    single = [scenario for scenario in seen if not scenario.startswith("scaling-") and scenario != "h2-goaway"]
    width = max(2 * WIDTH + MARGIN, 90 * len(single))
    parts, top = [], 30
    if any(scenario.startswith("scaling-") for scenario in seen):
        parts.append(scaling_chart(path, 0, top, "rps", "Requests a second by concurrent requests"))
        parts.append(scaling_chart(path, WIDTH + MARGIN, top, "cpu_us", "CPU time of a request in µs"))
        top += HEIGHT + 20
    if single:
        parts.append(ratio_chart(path, top, single, width))
        top += HEIGHT + 20
    for index, (subject, colour) in enumerate(COLOURS.items()):
        x = 20 + 110 * index
        parts.append(f'<rect x="{x}" y="8" width="12" height="12" fill="{colour}"/><text x="{x + 18}" y="19">{subject}</text>')
    with open(target, "w") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}"'
            f' font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        )
        file.write("\n".join(parts) + "\n</svg>\n")


main()
