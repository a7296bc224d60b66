"""Box plots of latencies as SVG, on a logarithmic axis, for light and dark pages."""

import math
from html import escape

import chart

LABEL_WIDTH, PLOT_WIDTH, MARGIN, ROW, BOX, TOP, BOTTOM = 200, 500, 20, 28, 14, 34, 44
LEGEND = "box: quartiles and median; whiskers: 1 % and 99 %; diamond: mean; dot: longest"


def quantile(ordered, share):
    """Of values in ascending order, by linear interpolation."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def ticks(low, high):
    """1, 2 and 5 times powers of ten."""
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for step in (1, 2, 5):
            if low <= step * 10.0**exponent <= high:
                yield step * 10.0**exponent


def box_plot(title, unit, rows, theme):
    """`rows` are label, whether it is drawn in the colour of the reference, and the values."""
    rows = [(label, is_reference, sorted(values)) for label, is_reference, values in rows]
    low = min(values[0] for _, _, values in rows) * 0.9
    high = max(values[-1] for _, _, values in rows) * 1.1
    at = lambda value: LABEL_WIDTH + PLOT_WIDTH * math.log(value / low) / math.log(high / low)
    bottom = TOP + ROW * len(rows)
    width, height = LABEL_WIDTH + PLOT_WIDTH + MARGIN, bottom + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{escape(title)}">',
        f'<text x="0" y="18" fill="{theme["text"]}" font-weight="600">{escape(title)}</text>',
    ]
    for tick in ticks(low, high):
        parts += [
            f'<line x1="{at(tick):.1f}" y1="{TOP}" x2="{at(tick):.1f}" y2="{bottom}" stroke="{theme["muted"]}" stroke-opacity="0.3"/>',
            f'<text x="{at(tick):.1f}" y="{bottom + 16}" text-anchor="middle" fill="{theme["muted"]}">{tick:g}</text>',
        ]
    parts += [
        f'<text x="{LABEL_WIDTH}" y="{bottom + 36}" fill="{theme["muted"]}" font-size="12">{escape(f"{unit}; {LEGEND}")}</text>',
    ]
    for line, (label, is_reference, values) in enumerate(rows):
        parts += box(label, values, TOP + ROW * line + ROW / 2, at, theme, theme["other" if is_reference else "ours"])
    return "\n".join([*parts, "</svg>", ""])


def box(label, values, middle, at, theme, colour):
    first, lower, median, upper, last = (at(quantile(values, share)) for share in (0.01, 0.25, 0.5, 0.75, 0.99))
    mean, longest = at(sum(values) / len(values)), at(values[-1])
    text, top, half = theme["text"], middle - BOX / 2, BOX / 4
    line = lambda x1, y1, x2, y2: (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{text}" stroke-width="1.2"/>'
    )
    return [
        f'<text x="{LABEL_WIDTH - 10}" y="{middle + 4:.1f}" text-anchor="end" fill="{text}">{escape(label)}</text>',
        line(first, middle, lower, middle),
        line(upper, middle, last, middle),
        *(line(x, middle - half, x, middle + half) for x in (first, last)),
        f'<rect x="{lower:.1f}" y="{top:.1f}" width="{max(1, upper - lower):.1f}" height="{BOX}" rx="2" fill="{colour}"/>',
        line(median, top - 2, median, top + BOX + 2),
        f'<path d="M{mean:.1f} {middle - 4:.1f}l4 4l-4 4l-4 -4z" fill="{text}"/>',
        f'<circle cx="{longest:.1f}" cy="{middle:.1f}" r="2" fill="{theme["muted"]}"/>',
    ]


def draw(name, title, unit, rows, folder):
    """Writes NAME-light.svg and NAME-dark.svg."""
    for theme, colours in chart.THEMES.items():
        (folder / f"{name}-{theme}.svg").write_text(box_plot(title, unit, rows, colours))
