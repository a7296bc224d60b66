#!/usr/bin/env python3
"""Bar charts of `runnel bench C udp footprint` as SVG, for the README and docs/performance.md.

    bench/chart.py results.json docs

writes latency-light.svg and latency-dark.svg (median round trips) and memory-light.svg and memory-dark.svg (resident
memory of idle programs) to the folder docs. Only contestants that the file holds are drawn.
"""

import json
import pathlib
import sys
from html import escape

# Contestant of the bench -> label, whether it is Runnel.
LATENCY = [
    ("C", None, "runnel-ipc", "Runnel, ROS 1, shared memory", True),
    ("C", None, "runnel-rtps-ipc", "Runnel, ROS 2, shared memory", True),
    ("C", None, "iceoryx2-event", "iceoryx2, shared memory", False),
    ("C", None, "runnel-tcpros", "Runnel, TCPROS", True),
    ("C", None, "roscpp", "roscpp, TCPROS", False),
    ("udp-reliable", 10, "runnel-rtps", "Runnel, RTPS over UDP", True),
    ("udp-reliable", 10, "cyclonedds", "Cyclone DDS, RTPS over UDP", False),
    ("udp-reliable", 10, "fastdds", "Fast DDS, RTPS over UDP", False),
]
MEMORY = [
    ("runnel-static", "Runnel node, static", True),
    ("runnel", "Runnel node", True),
    ("cyclonedds", "Cyclone DDS node", False),
    ("roscpp", "roscpp node", False),
    ("fastdds", "Fast DDS node", False),
    ("iceoryx2-event", "iceoryx2 node", False),
]
THEMES = {
    "light": {"text": "#1f2328", "muted": "#59636e", "ours": "#0969da", "other": "#b6bfc9"},
    "dark": {"text": "#f0f6fc", "muted": "#9198a1", "ours": "#4493f8", "other": "#545d68"},
}
LABEL_WIDTH, BAR_WIDTH, VALUE_WIDTH, ROW, TOP = 230, 400, 90, 24, 34


def round_trips(results):
    """Median round trips in microseconds, both ends on one core."""
    medians = {}
    for summary in results["summaries"]:
        case = summary["case"]
        if case["placement"] == "one-core" and summary["round_trip_ns"]:
            key = (case["scenario"], case["size"], summary["contestant"])
            medians[key] = summary["round_trip_ns"]["p50"] / 1000
    for scenario, size, contestant, label, ours in LATENCY:
        found = [value for (s, n, c), value in medians.items()
                 if s == scenario and c == contestant and size in (None, n)]
        if found:
            yield label, ours, found[0]


def resident(results):
    """Resident memory in megabytes (10^6 bytes)."""
    sizes = {row["program"]: row["resident_bytes"] / 1e6 for row in results["footprints"]}
    for contestant, label, ours in MEMORY:
        if contestant in sizes:
            yield label, ours, sizes[contestant]


def chart(title, unit, rows, theme):
    rows = list(rows)
    most = max(value for _, _, value in rows)
    width, height = LABEL_WIDTH + BAR_WIDTH + VALUE_WIDTH, TOP + ROW * len(rows) + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{escape(title)}">',
        f'<text x="0" y="18" fill="{theme["text"]}" font-weight="600">{escape(title)}</text>',
    ]
    for line, (label, ours, value) in enumerate(rows):
        y = TOP + ROW * line
        length = max(2, BAR_WIDTH * value / most)
        parts += [
            f'<text x="{LABEL_WIDTH - 10}" y="{y + 14}" text-anchor="end" fill="{theme["text" if ours else "muted"]}">'
            f'{escape(label)}</text>',
            f'<rect x="{LABEL_WIDTH}" y="{y + 2}" width="{length:.1f}" height="16" rx="2" '
            f'fill="{theme["ours" if ours else "other"]}"/>',
            f'<text x="{LABEL_WIDTH + length + 6:.1f}" y="{y + 14}" fill="{theme["muted"]}">{value:.1f} {unit}</text>',
        ]
    return "\n".join(parts + ["</svg>", ""])


def draw(results, folder):
    """Writes the charts whose contestants the results hold."""
    charts = {
        "latency": ("Round trip of 10 bytes, both processes on one core (median; shorter is better)", "µs", round_trips),
        "memory": ("Resident memory of an idle node (shorter is better)", "MB", resident),
    }
    for name, (title, unit, values) in charts.items():
        rows = list(values(results))
        if not rows:
            print(f"{name}: the results have none of its contestants", file=sys.stderr)
            continue
        for theme, colours in THEMES.items():
            (folder / f"{name}-{theme}.svg").write_text(chart(title, unit, rows, colours))


if __name__ == "__main__":
    draw(json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2]))
