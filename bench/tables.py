#!/usr/bin/env python3
"""Writes the figures of `runnel bench` into docs/performance.md and draws its charts.

usage: bench/tables.py RESULTS.json... [--page docs/performance.md] [--check]

Every table of the page that can be renewed lies between two comments: `<!-- figures: NAME -->` and `<!-- end -->`.
The tables whose figures the files hold are written anew, each with all its contestants; the others keep their text and
are named. Of a scenario that several files hold, the last one counts. Charts go to the folder of the page. The ratios
of the page's summary are printed, since its sentences are written by hand.

  --check  changes nothing; fails if a table of the page is unknown
"""

import argparse
import json
import re
import sys
from pathlib import Path

# Importing leaves no files in the folder.
sys.dont_write_bytecode = True
import chart

BLOCK = re.compile(r"(<!-- figures: (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
ONE, TWO = "one-core", "two-cores"
PLACES = {ONE: "one core", TWO: "two cores"}

RUNNEL1, RUNNEL2, TCPROS = "Runnel, ROS 1", "Runnel, ROS 2", "Runnel, TCPROS"
PING_PONG = [
    ("C", "floor-unix-stream", "floor: Unix stream, epoll"),
    ("C", "runnel-ipc", RUNNEL1),
    ("C", "runnel-rtps-ipc", RUNNEL2),
    ("C", "iceoryx2-event", "iceoryx2, events"),
    ("C", "cyclonedds", "Cyclone DDS"),
    ("C", "floor-tcp", "floor: one TCP connection, epoll"),
    ("C", "runnel-tcpros", TCPROS),
    ("C", "roscpp", "roscpp, TCPROS"),
]
SPINNING = [
    ("ipc", "floor-spin", "floor: a word of shared memory"),
    ("C", "runnel-ipc-spin", RUNNEL1),
    ("C", "iceoryx2-poll", "iceoryx2, polling"),
]
BURST = [
    ("floor-tcp", "floor: TCP"),
    ("floor-unix-stream", "floor: Unix stream"),
    ("runnel-ipc", "Runnel"),
    ("runnel-ipc-loan", "Runnel, loaned messages"),
    ("runnel-ipc-spin", "Runnel, spinning"),
    ("runnel-ipc-loan-spin", "Runnel, loaned messages, spinning"),
    ("iceoryx2-event", "iceoryx2, events"),
    ("iceoryx2-poll", "iceoryx2, polling"),
    ("cyclonedds", "Cyclone DDS"),
    ("runnel-tcpros", TCPROS),
    ("roscpp", "roscpp, TCPROS"),
]
UDP = [
    ("floor-udp", "floor: UDP"),
    ("runnel-rtps", "Runnel"),
    ("cyclonedds", "Cyclone DDS"),
    ("fastdds", "Fast DDS"),
]
ROS1_CALLS = [
    ("runnel-ipc", "Runnel"),
    ("runnel-ipc-spin", "Runnel, spinning"),
    ("runnel-tcpros", TCPROS),
    ("roscpp", "roscpp"),
    ("roscpp-at-runnel", "roscpp at `runnel master`"),
]
ROS2_CALLS = [
    ("runnel-rtps-ipc", "Runnel, shared memory"),
    ("runnel-rtps-ipc-topic", "the same, a message there and back by topics"),
    ("floor-udp", "floor: UDP"),
    ("runnel-rtps", "Runnel, UDP"),
    ("fastdds", "Fast DDS 2.9, UDP"),
    ("rcl-udp", "rcl on Fast DDS of Kilted, UDP"),
    ("rcl", "rcl, default transports"),
    ("rclpy", "rclpy, default transports"),
]
PARAMETERS = [
    ("runnel-tcpros", "Runnel at `runnel master`"),
    ("roscpp", "roscpp at rosmaster"),
    ("roscpp-at-runnel", "roscpp at `runnel master`"),
]
PROGRAMS = [
    ("runnel", "Runnel, release profile"),
    ("runnel-static", "Runnel, static (`--profile tiny`, musl)"),
    ("dual-static", "the same in both graphs, with all that a ROS 2 node offers"),
    ("topic-echo", "`runnel topic echo` on a quiet topic"),
    ("roscpp", "roscpp"),
    ("cyclonedds", "Cyclone DDS"),
    ("fastdds", "Fast DDS"),
    ("iceoryx2-event", "iceoryx2"),
    ("bare-static", "a static Rust program that does nothing"),
]
MIB = 1024 * 1024
RATES = [
    ("runnel-ipc", "Runnel"),
    ("runnel-ipc-loan", "Runnel, loaned messages"),
    ("iceoryx2-event", "iceoryx2, events"),
    ("roscpp", "roscpp"),
]
SIZES = [
    ("runnel-ipc-loan", "Runnel, loaned messages"),
    ("iceoryx2-event", "iceoryx2, events"),
    ("runnel-ipc-loan-spin", "Runnel, loaned messages, spinning"),
    ("iceoryx2-poll", "iceoryx2, polling"),
    ("runnel-ipc", "Runnel"),
    ("floor-unix-stream", "floor: Unix stream"),
    ("roscpp", "roscpp, TCPROS"),
]
SCALE = [
    ("runnel-ipc", "Runnel"),
    ("iceoryx2-event", "iceoryx2, events"),
    ("cyclonedds", "Cyclone DDS"),
    ("roscpp", "roscpp"),
]
CHAIN = [
    ("floor-unix-stream", "floor: Unix stream"),
    ("runnel-ipc", "Runnel"),
    ("iceoryx2-event", "iceoryx2, events"),
    ("cyclonedds", "Cyclone DDS"),
    ("floor-tcp", "floor: TCP"),
    ("runnel-tcpros", TCPROS),
    ("roscpp", "roscpp, TCPROS"),
]


def number(value):
    """Three significant digits, at most two of them fractions; thousands apart from ten thousand on."""
    if value is None:
        return ""
    whole = len(str(int(value)))
    rounded = round(value, 3 - whole)
    if rounded >= 10_000:
        return f"{rounded:,.0f}".replace(",", " ")
    # Rounding up may have added a digit.
    return f"{rounded:.{max(3 - len(str(int(rounded))), 0)}f}"


class Results:
    """Figures of all files by scenario, contestant, placement and the other parameters of a case."""

    def __init__(self, paths):
        self.cases, self.programs, self.first_messages, self.machines = {}, {}, {}, []
        self.is_quick = False
        for path in paths:
            self.add(json.loads(Path(path).read_text()))

    def add(self, results):
        self.is_quick |= results["quick"]
        self.machines.append(results["machine"])
        scenarios = {summary["case"]["scenario"] for summary in results["summaries"]}
        self.cases = {key: found for key, found in self.cases.items() if key[0] not in scenarios}
        for summary in results["summaries"]:
            case = {name: value for name, value in summary["case"].items() if value is not None}
            key = (case.pop("scenario"), summary["contestant"], case.pop("placement"))
            self.cases.setdefault(key, []).append((case, summary))
        self.programs.update({row["program"]: row for row in results["footprints"]})
        self.first_messages.update({row["contestant"]: row for row in results["first_messages"]})

    def as_json(self):
        """As in the file of one run."""
        summaries = [summary for found in self.cases.values() for _, summary in found]
        return {"summaries": summaries, "footprints": list(self.programs.values())}

    def summary(self, scenario, contestant, placement, **parameters):
        for case, summary in self.cases.get((scenario, contestant, placement), []):
            if all(case.get(name) == value for name, value in parameters.items()):
                return summary
        return None

    def figure(self, kind, part, scenario, contestant, placement, **parameters):
        """A delay in microseconds, or None."""
        summary = self.summary(scenario, contestant, placement, **parameters)
        return summary[kind][part] / 1000 if summary and summary[kind] else None

    def round_trip(self, part, *case, **parameters):
        return self.figure("round_trip_ns", part, *case, **parameters)

    def one_way(self, part, *case, **parameters):
        return self.figure("one_way_ns", part, *case, **parameters)

    def rate(self, *case, **parameters):
        summary = self.summary(*case, **parameters)
        return summary["messages_per_second"] if summary else None


def table(head, rows):
    """Markdown, without rows that have no figure."""
    rows = [row for row in rows if any(cell for cell in row[1:])]
    lines = [head, ["---"] * len(head), *rows]
    text = "".join("| " + " | ".join(line) + " |\n" for line in lines)
    return text.replace("|  |", "| |").replace("| --- ", "|---").replace("--- |", "---|") if rows else None


def with_tail(p50, p99):
    return f"{number(p50)} ({number(p99)})" if p50 is not None else ""


def ratio(value, floor):
    return f"{value / floor:.2f}".removesuffix(".00") if value and floor else ""


def ping_pong(results):
    rows = []
    floors = {place: results.round_trip("p50", "C", "floor-unix-stream", place) for place in PLACES}
    for scenario, contestant, label in PING_PONG:
        row = [label]
        for place in PLACES:
            p50, p99 = (results.round_trip(part, scenario, contestant, place) for part in ("p50", "p99"))
            row += [number(p50), number(p99), ratio(p50, floors[place])]
        rows.append(row)
    columns = [column for name in PLACES.values() for column in (f"{name}: p50", "p99", "over the floor")]
    return table(["", *columns], rows)


def spinning(results):
    return table(["spinning, two cores", "p50", "p99"], [
        [label, *(number(results.round_trip(part, scenario, contestant, TWO)) for part in ("p50", "p99"))]
        for scenario, contestant, label in SPINNING
    ])


def burst(results):
    columns = [(50, ONE), (50, TWO), (60_000, ONE), (60_000, TWO)]
    head = ["", *(f"{number(size) if size > 999 else size} B, {PLACES[place]}" for size, place in columns)]
    return table(head, [
        [label, *(number(results.rate("A", contestant, place, size=size)) for size, place in columns)]
        for contestant, label in BURST
    ])


def udp(place):
    def of(results):
        columns = [("udp-reliable", 10), ("udp-reliable", 1000), ("udp-best-effort", 10), ("udp-best-effort", 1000)]
        head = [PLACES[place], "reliable, 10 B", "1 kB", "best effort, 10 B", "1 kB"]
        cell = lambda contestant, scenario, size: with_tail(
            *(results.round_trip(part, scenario, contestant, place, size=size) for part in ("p50", "p99")))
        return table(head, [[label, *(cell(contestant, *column) for column in columns)] for contestant, label in UDP])
    return of


def ros1_calls(results):
    once, kept = "service-once", "service-persistent"
    columns = [("p50", once, ONE), ("p99", once, ONE), ("p50", once, TWO),
               ("p50", kept, ONE), ("p99", kept, ONE), ("p50", kept, TWO)]
    head = ["", "own connection, one core: p50", "p99", "two cores: p50",
            "kept connection, one core: p50", "p99", "two cores: p50"]
    return table(head, [
        [label, *(number(results.round_trip(part, scenario, contestant, place)) for part, scenario, place in columns)]
        for contestant, label in ROS1_CALLS
    ])


def ros2_calls(results):
    rows = []
    for contestant, label in ROS2_CALLS:
        row = [label]
        for place in PLACES:
            row += [number(results.round_trip(part, "service-ros2", contestant, place)) for part in ("p50", "p99")]
        rows.append(row)
    return table(["", *(column for name in PLACES.values() for column in (f"{name}: p50", "p99"))], rows)


def parameters(results):
    columns = [(scenario, part, place) for scenario in ("param-set", "param-get")
               for part, place in (("p50", ONE), ("p99", ONE), ("p50", TWO))]
    head = ["", "set, one core: p50", "p99", "two cores: p50", "get, one core: p50", "p99", "two cores: p50"]
    cell = lambda contestant, scenario, part, place: number(results.round_trip(part, scenario, contestant, place, size=4))
    return table(head, [[label, *(cell(contestant, *column) for column in columns)] for contestant, label in PARAMETERS])


def footprint(results):
    rows = []
    for program, label in PROGRAMS:
        if found := results.programs.get(program):
            sizes = [f"{found[name] / 1e6:.2f} MB" for name in ("file_bytes", "resident_bytes", "proportional_bytes")]
            rows.append([label, *sizes, str(found["threads"]), str(found["context_switches"])])
    return table(["", "file", "resident", "proportional", "threads", "context switches"], rows)


def rates(results):
    columns = [(size, name, rate) for size, name in ((128, "128 B"), (MIB, "1 MiB"), (7 * MIB // 4, "1.75 MiB"))
               for rate in (20, 1000)]
    cell = lambda contestant, place, size, rate: with_tail(
        *(results.one_way(part, "B", contestant, place, size=size, rate_hz=rate) for part in ("p50", "p99")))
    return table(["", *(f"{name}, {rate}/s" for _, name, rate in columns)], [
        [f"{label}, {PLACES[place]}", *(cell(contestant, place, size, rate) for size, _, rate in columns)]
        for place in PLACES for contestant, label in RATES
    ])


def sizes(place):
    def of(results):
        columns = [("hand-over", 10, "10 B"), ("hand-over", 64 * 1024, "64 KiB"), ("hand-over", MIB, "1 MiB"),
                   ("hand-over", 2 * MIB, "2 MiB"), ("hand-over", 8 * MIB, "8 MiB"),
                   ("write", 2 * MIB, "written: 2 MiB"), ("read", 2 * MIB, "read, too: 2 MiB")]
        cell = lambda contestant, payload, size: number(
            results.one_way("p50", "sizes", contestant, place, size=size, payload=payload))
        return table([PLACES[place], *(name for _, _, name in columns)], [
            [label, *(cell(contestant, payload, size) for payload, size, _ in columns)] for contestant, label in SIZES
        ])
    return of


def by_count(scenario, parameter, counts, figure):
    def of(results):
        cell = lambda contestant, place, count: number(
            results.figure(figure, "p50", scenario, contestant, place, **{parameter: count}))
        return table([parameter, *map(str, counts)], [
            [f"{label}, {PLACES[place]}", *(cell(contestant, place, count) for count in counts)]
            for place in PLACES for contestant, label in SCALE
        ])
    return of


def chain(results):
    rows = [[label, *(number(results.one_way(part, "chain", contestant, place))
                      for place in PLACES for part in ("p50", "p99", "mean"))] for contestant, label in CHAIN]
    return table(["", *(column for name in PLACES.values() for column in (f"{name}: p50", "p99", "average"))], rows)


def hello(results):
    def cell(scenario, contestant, place):
        kind = "round_trip_ns" if scenario == "C" else "one_way_ns"
        mean, p50 = (results.figure(kind, part, scenario, contestant, place) for part in ("mean", "p50"))
        return with_tail(mean, p50)
    sockets, nodes = ("floor-tcp", "floor-unix-stream"), ("runnel-tcpros", "runnel-ipc")
    rows = [
        ("sockets only, ping-pong of 10 B", "C", sockets, "3.1", "1.8"),
        ("sockets only, HelloWorld", "hello", sockets, "", ""),
        ("ROS there, Runnel here: HelloWorld", "hello", nodes, "70.4", "64.8"),
        ("roscpp, HelloWorld", "hello", ("roscpp", None), "", ""),
    ]
    head = ["", "TCP, published", "Unix socket, published", "TCP, one core", "within the host, one core",
            "TCP, two cores", "within the host, two cores"]
    measured = [[label, *(cell(scenario, contestant, place) for place in PLACES for contestant in contestants)]
                for label, scenario, contestants, _, _ in rows]
    if not any(any(row[1:]) for row in measured[1:]):
        return None
    return table(head, [[row[0], *published, *row[1:]] for row, (*_, first, second) in zip(measured, rows)
                        for published in [(first, second)]])


TABLES = {
    "ping-pong": ping_pong,
    "spinning": spinning,
    "burst": burst,
    "udp-one-core": udp(ONE),
    "udp-two-cores": udp(TWO),
    "services-ros1": ros1_calls,
    "services-ros2": ros2_calls,
    "parameters": parameters,
    "footprint": footprint,
    "rates": rates,
    "sizes-one-core": sizes(ONE),
    "sizes-two-cores": sizes(TWO),
    "topics": by_count("scale-topics", "topics", (1, 10, 100, 1000), "round_trip_ns"),
    "subscribers": by_count("scale-subscribers", "subscribers", (1, 2, 4, 8, 16, 32, 64), "one_way_ns"),
    "chain": chain,
    "hello": hello,
}

# Name of a ratio, and its two cases: scenario, contestant, and further parameters.
RATIOS = [
    ("ROS 1 by memory / Unix stream", ("C", "runnel-ipc"), ("C", "floor-unix-stream"), {}),
    ("ROS 2 by memory / Unix stream", ("C", "runnel-rtps-ipc"), ("C", "floor-unix-stream"), {}),
    ("ROS 1 by memory / iceoryx2", ("C", "runnel-ipc"), ("C", "iceoryx2-event"), {}),
    ("TCPROS / roscpp", ("C", "runnel-tcpros"), ("C", "roscpp"), {}),
    ("TCPROS / TCP", ("C", "runnel-tcpros"), ("C", "floor-tcp"), {}),
    ("TCPROS / two TCP connections", ("C", "runnel-tcpros"), ("C", "floor-tcp-pair"), {}),
    ("RTPS / UDP", ("udp-reliable", "runnel-rtps"), ("udp-reliable", "floor-udp"), {"size": 10}),
    ("RTPS / Cyclone DDS", ("udp-reliable", "runnel-rtps"), ("udp-reliable", "cyclonedds"), {"size": 10}),
    ("RTPS / Fast DDS", ("udp-reliable", "runnel-rtps"), ("udp-reliable", "fastdds"), {"size": 10}),
    ("best effort / Fast DDS", ("udp-best-effort", "runnel-rtps"), ("udp-best-effort", "fastdds"), {"size": 10}),
    ("ROS 1 call, own connection / roscpp", ("service-once", "runnel-tcpros"), ("service-once", "roscpp"), {}),
    ("ROS 1 call, kept / roscpp", ("service-persistent", "runnel-tcpros"), ("service-persistent", "roscpp"), {}),
    ("ROS 2 call by memory / topic", ("service-ros2", "runnel-rtps-ipc"), ("service-ros2", "runnel-rtps-ipc-topic"), {}),
    ("ROS 2 call over UDP / Fast DDS", ("service-ros2", "runnel-rtps"), ("service-ros2", "fastdds"), {}),
    ("ROS 2 call over UDP / rcl over UDP", ("service-ros2", "runnel-rtps"), ("service-ros2", "rcl-udp"), {}),
    ("ROS 2 call by default / rcl by default", ("service-ros2", "runnel-rtps-ipc"), ("service-ros2", "rcl"), {}),
    ("parameter set / roscpp", ("param-set", "runnel-tcpros"), ("param-set", "roscpp"), {"size": 4}),
    ("parameter get / roscpp", ("param-get", "runnel-tcpros"), ("param-get", "roscpp"), {"size": 4}),
]


def print_ratios(results):
    print("medians, one core and two cores:")
    for name, (scenario, ours), (other_scenario, other), parameters in RATIOS:
        cells = []
        for place in PLACES:
            medians = (results.round_trip("p50", scenario, ours, place, **parameters),
                       results.round_trip("p50", other_scenario, other, place, **parameters))
            cells.append(ratio(*medians) or "-")
        if cells != ["-", "-"]:
            print(f"  {name}: {cells[0]}, {cells[1]}")
    for contestant, row in results.first_messages.items():
        if row["wait_ns"]:
            print(f"  first latched message, {contestant}: {row['wait_ns']['p50'] / 1e6:.1f} ms")
    for machine in {json.dumps(machine) for machine in results.machines}:
        print(f"machine: {machine}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("results", nargs="*", metavar="RESULTS.json")
    parser.add_argument("--page", type=Path, default=Path(__file__).resolve().parent.parent / "docs/performance.md")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    page = arguments.page.read_text()
    names = [name for _, name, _, _ in BLOCK.findall(page)]
    if unknown := sorted(set(names) ^ set(TABLES)):
        sys.exit(f"tables.py: {arguments.page} and this program differ in tables: {' '.join(unknown)}")
    if arguments.check:
        return
    results = Results(arguments.results)
    if results.is_quick:
        sys.exit("tables.py: figures of a run with --quick mean nothing")
    written = {name: TABLES[name](results) for name in names}
    replace = lambda match: match[1] + (written[match[2]] or match[3]) + match[4]
    arguments.page.write_text(BLOCK.sub(replace, page))
    kept = [name for name, text in written.items() if text is None]
    print(f"written: {' '.join(name for name in names if name not in kept) or 'none'}")
    print(f"kept: {' '.join(kept) or 'none'}")
    chart.draw(results.as_json(), arguments.page.parent)
    print_ratios(results)


if __name__ == "__main__":
    main()
