#!/usr/bin/env python3
"""Draws docs/demo.svg: the screen of `runnel demo` at about two thirds of its first lap.

usage: docs/demo_picture.py RUNNEL

RUNNEL is the program, built with the feature `demo` in release mode. Needs Linux, tmux, iproute2 and unshare (util-linux). The
demo runs in a network namespace of its own, so that its master gets port 11311.
"""

import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

COLUMNS, ROWS = 100, 30
# Size of a cell and of the margin in pixels.
WIDTH, HEIGHT, MARGIN = 9, 18, 16
DEADLINE = 180
CAPTURED_AT = re.compile(r"\b6[0-9] %")

# The terminal's colours that the demo uses: number in its palette, class, light, dark.
COLOURS = {
    1: ("red", "#c01c28", "#f66151"),
    3: ("yellow", "#b58900", "#e5c07b"),
    5: ("magenta", "#a51d9e", "#e06ce0"),
    6: ("cyan", "#007f8b", "#2ec4d6"),
    8: ("faint", "#6a737d", "#8b949e"),
}


def captured(program: pathlib.Path) -> str:
    """The screen with its escape sequences."""
    with tempfile.TemporaryDirectory() as folder:
        tmux = ["tmux", "-S", f"{folder}/socket"]
        path = f"{program.parent}:{os.environ['PATH']}"
        start = f"ip link set lo up; exec tmux -S {folder}/socket -f /dev/null new-session -d -x {COLUMNS} -y {ROWS} 'runnel demo'"
        subprocess.run(["unshare", "-rn", "sh", "-c", start], check=True, cwd=folder, env={**os.environ, "PATH": path})
        try:
            for _ in range(DEADLINE * 10):
                screen = subprocess.run([*tmux, "capture-pane", "-e", "-p"], check=True, capture_output=True, text=True).stdout
                if CAPTURED_AT.search(re.sub(r"\x1b\[[0-9;]*m", "", screen)):
                    return screen
                time.sleep(0.1)
        finally:
            subprocess.run([*tmux, "kill-server"], check=False)
    sys.exit(f"no drive within {DEADLINE} s")


def cells(line: str):
    """(column, character, class) of each cell that is not blank."""
    column, colour, bold = 0, "", False
    for escape, character in re.findall(r"\x1b\[([0-9;]*)m|(.)", line):
        if character:
            if character != " ":
                yield column, character, " ".join(filter(None, [colour, "bold" if bold else ""]))
            column += 1
            continue
        codes = [int(code or 0) for code in escape.split(";")]
        while codes:
            code = codes.pop(0)
            if code in (38, 48):
                # 38;5;NUMBER is a colour of the palette.
                number, codes = codes[1], codes[2:]
                colour = COLOURS.get(number, ("",))[0] if code == 38 else colour
            elif code in (0, 39):
                colour, bold = "", bold and code == 39
            elif code == 1:
                bold = True


def outline(x: float, y: float, character: str) -> str:
    """The outline of a cell, empty for a character. Braille dots, blocks and lines do not depend on fonts this way."""
    braille = ord(character) - 0x2800
    if 0 <= braille < 256:
        # Dots 1 to 3, 7 are the left column, 4 to 6, 8 the right one.
        places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]
        dots = [place for bit, place in enumerate(places) if braille & (1 << bit)]
        step_x, step_y = WIDTH / 2, HEIGHT / 4
        squares = [(x + (i + 0.5) * step_x - 1.1, y + (j + 0.5) * step_y - 1.1) for i, j in dots]
        return "".join(f"M{left:.1f} {top:.1f}h2.2v2.2h-2.2z" for left, top in squares)
    if character == "█":
        return f"M{x} {y + 2}h{WIDTH}v{HEIGHT - 4}h-{WIDTH}z"
    if character in "━─":
        thickness = 3 if character == "━" else 1
        return f"M{x} {y + (HEIGHT - thickness) / 2}h{WIDTH}v{thickness}h-{WIDTH}z"
    return ""


def drawn(line: str, row: int) -> str:
    """A line: words as text of a fixed width, other cells as one path per colour."""
    y = MARGIN + row * HEIGHT
    outlines, words = {}, []
    for column, character, style in cells(line):
        if path := outline(MARGIN + column * WIDTH, y, character):
            outlines[style] = outlines.get(style, "") + path
        elif words and words[-1][1:] == (column, style):
            words[-1] = (words[-1][0] + character, column + 1, style)
        else:
            words.append((character, column + 1, style))
    parts = [f'<path class="{style}" d="{path}"/>' for style, path in outlines.items()]
    for word, end, style in words:
        x, length = MARGIN + (end - len(word)) * WIDTH, len(word) * WIDTH
        place = f'x="{x}" y="{y + HEIGHT * 0.75}" textLength="{length}"'
        parts.append(f'<text class="{style}" {place}>{html.escape(word)}</text>')
    return "".join(parts).replace(' class=""', "")


def rules(index: int, text: str, background: str) -> str:
    colours = "".join(f".{names[0]}{{fill:{names[index]}}}" for names in COLOURS.values())
    return f"svg{{fill:{text}}}.back{{fill:{background}}}{colours}"


def picture(screen: str) -> str:
    width, height = COLUMNS * WIDTH + 2 * MARGIN, ROWS * HEIGHT + 2 * MARGIN
    style = (
        "text{font:15px 'DejaVu Sans Mono',Menlo,Consolas,monospace}.bold{font-weight:bold}"
        + rules(1, "#1f2328", "#f6f8fa")
        + f"@media(prefers-color-scheme:dark){{{rules(2, '#e6edf3', '#161b22')}}}"
    )
    lines = "\n".join(filter(None, (drawn(line, row) for row, line in enumerate(screen.split("\n")))))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f"<style>{style}</style>\n"
        f'<rect class="back" width="{width}" height="{height}" rx="8"/>\n{lines}\n</svg>\n'
    )


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    pathlib.Path(__file__).with_name("demo.svg").write_text(picture(captured(program)))


main()
