"""Tables of the times that bench/wasm has measured."""

import statistics

import box_plot

# Thesis on mROS 2-POSIX and mROS 2-Wasm (2024), Raspberry Pi 3B+: mean, longest, shortest and standard deviation, in µs.
PUBLISHED = {
    "light_sensors": {
        "ROS 2": (733.40, 830, 650, 58.14),
        "mROS 2-POSIX": (656.59, 780, 580, 51.16),
        "mROS 2-Wasm, interpreted": (2101.89, 2870, 1740, 282.89),
    },
    "cmd_vel": {
        "ROS 2": (42757.34, 74220, 16550, 23451.16),
        "mROS 2-POSIX": (36954.83, 72490, 2380, 20486.34),
        "mROS 2-Wasm, interpreted": (46760.56, 83190, 14170, 20424.32),
    },
}
# In MB: resident, of these shared.
PUBLISHED_MEMORY = {"ROS 2": (32.51, 25.16), "mROS 2-POSIX": (1.66, 1.48), "mROS 2-Wasm, interpreted": (17.37, 1.73)}
SOURCE = "published, Raspberry Pi 3B+"
# The targets, as ratios of medians to the native program's.
TARGETS = {"AOT": 1.1, "JIT": 1.1, "Pulley": 3}


def by_mode(results, times):
    """Mode, placement and the times of all rounds, in the order of the first round."""
    found = {}
    for run in results["runs"]:
        taken = times(run)
        found.setdefault((run["placement"], run["mode"]), []).extend(taken if isinstance(taken, list) else [taken])
    for (placement, mode), values in found.items():
        yield mode, placement, values


def number(value):
    """With three digits that count."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(head, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def statistics_of(times, unit):
    """Mean, median, 99th percentile, longest, shortest and standard deviation of nanoseconds, in a unit of so many."""
    ordered = sorted(time / unit for time in times)
    deviation = statistics.pstdev(ordered)
    shown = [statistics.fmean(ordered), *(box_plot.quantile(ordered, share) for share in (0.5, 0.99)), ordered[-1], ordered[0]]
    return [number(value) for value in [*shown, deviation]]


def ratios(results, times):
    """Of the medians to those of the native program in the same placement."""
    medians = {(mode, placement): statistics.median(values) for mode, placement, values in by_mode(results, times)}
    return {key: median / medians["native", key[1]] for key, median in medians.items()}


def latency(results, topic, way):
    times = lambda run: run[topic][way]
    to_native = ratios(results, times)
    rows = [
        [f"{mode}, {placement}", *statistics_of(values, 1000), f"{to_native[mode, placement]:.2f}"]
        for mode, placement, values in by_mode(results, times)
    ]
    if way == "one_way":
        for name, (mean, longest, shortest, deviation) in PUBLISHED[topic].items():
            published = [f"{mean:.0f}", "", "", f"{longest:.0f}", f"{shortest:.0f}", f"{deviation:.0f}", ""]
            rows.append([f"{name} ({SOURCE})", *published])
    return table(["µs", "mean", "p50", "p99", "max", "min", "σ", "/native"], rows)


def memory(results):
    rows = {}
    for row in results["memory"]:
        rows.setdefault(row["mode"], []).append(row)
    megabytes = lambda found, name: f"{statistics.median(row[name] for row in found) / 1e6:.2f}"
    shown = ["RES", "SHR", "VSS", "PSS", "USS"]
    measured = [[mode, *(megabytes(found, name) for name in shown)] for mode, found in rows.items()]
    published = [
        [f"{name} ({SOURCE})", f"{resident:.2f}", f"{shared:.2f}", "", "", ""]
        for name, (resident, shared) in PUBLISHED_MEMORY.items()
    ]
    return table(["MB", *shown], [*measured, *published])


def start(results):
    rows = []
    received = {(mode, placement): values for mode, placement, values in by_mode(results, lambda run: run["first_received"])}
    for mode, placement, values in by_mode(results, lambda run: run["started"]):
        cells = []
        for times in (values, received[mode, placement]):
            cells += [number(statistics.median(times) / 1e6), number(max(times) / 1e6)]
        rows.append([f"{mode}, {placement}", *cells])
    return table(["ms", "first message sent: p50", "max", "received: p50", "max"], rows)


def computing(results):
    rows = {}
    for kind in ["primes_up_to", "first_primes"]:
        to_native = ratios(results, lambda run: run[kind])
        for mode, placement, values in by_mode(results, lambda run: run[kind]):
            cells = [number(statistics.median(values) / 1000), f"{to_native[mode, placement]:.2f}"]
            rows.setdefault(f"{mode}, {placement}", []).extend(cells)
    head = ["µs, p50", "primes up to 1024", "/native", "first 1024 primes", "/native"]
    return table(head, [[label, *cells] for label, cells in rows.items()])


def targets(results):
    """Each median that misses its target."""
    missed = []
    for topic in PUBLISHED:
        for (mode, placement), ratio in ratios(results, lambda run: run[topic]["one_way"]).items():
            if ratio > TARGETS.get(mode, ratio):
                missed.append(f"/{topic}, {mode}, {placement}: {ratio:.2f} of native (target: {TARGETS[mode]})")
    resident = statistics.median(row["RES"] for row in results["memory"] if row["mode"] == "AOT") / 1e6
    if resident >= 8:
        missed.append(f"resident, AOT: {resident:.2f} MB (target: 8)")
    for mode, placement, values in by_mode(results, lambda run: run["started"]):
        took = statistics.median(values) / 1e6
        if mode != "native" and took >= 20:
            missed.append(f"start, {mode}, {placement}: {took:.1f} ms (target: 20)")
    return missed


def report(results):
    parts = []
    for topic in PUBLISHED:
        parts += [f"### /{topic}, one way", latency(results, topic, "one_way")]
        parts += [f"### /{topic}, round trip", latency(results, topic, "round_trip")]
    parts += ["### Memory", memory(results), "### Start", start(results), "### Computing", computing(results)]
    if results["is_quick"]:
        parts.append("These figures are of a run with --quick and mean nothing.")
    else:
        parts += ["### Targets", "\n".join(f"- missed: {line}" for line in targets(results)) or "All are met."]
    return "\n\n".join(parts) + "\n"
