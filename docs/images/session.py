#!/usr/bin/env python3
"""Records a session of `freshet dev` in three terminals and writes it as docs/images/session.svg.

    docs/images/session.py [PROGRAM]     PROGRAM: .build/debug/freshet, built by `make build`

Every line is what the program printed, at the time at which it did; pauses are cut to PAUSE seconds. The ports 9398 and
9399 must be free. The sample's data goes into a temporary folder. Needs Python 3 alone.
"""

import html
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAUSE = 1.2
COLUMNS = 112
WAIT = 120
# A token of a user in the sample's data; `freshet dev` asks for no signature.
TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEwMSJ9."
TERMINALS = ["freshet dev: all roles, a private Postgres and Redis", "a client", "another client, and the operator"]


class Recording:
    """Lines of all terminals, with the time at which each appeared."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.lines = []
        self.start = time.monotonic()
        self.processes = []

    def note(self, terminal, text, kind="out"):
        self.lines.append((time.monotonic() - self.start, terminal, kind, text))

    def run(self, terminal, *words):
        """Starts a command as typed; returns its process and a queue of its lines."""
        shown = " ".join(f"'{word}'" if re.search(r'[{" ]', word) else word for word in words)
        self.note(terminal, shown, "in")
        process = subprocess.Popen(
            ["freshet", *words[1:]], executable=self.program, cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        printed = queue.Queue()

        def read():
            for line in process.stdout:
                self.note(terminal, line.rstrip("\n"))
                printed.put(line)
            printed.put(None)

        threading.Thread(target=read, daemon=True).start()
        return process, printed

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(30)


def until(printed, text):
    """Returns the next line that contains the text."""
    seen = []
    while (line := printed.get(timeout=WAIT)) is not None:
        if text in line:
            return line
        seen.append(line)
    sys.exit(f"error: the program ended without printing {text!r}:\n{''.join(seen)}")


def record(program):
    with tempfile.TemporaryDirectory() as folder:
        # Started by root, Postgres runs as a user of its own.
        os.chmod(folder, 0o755)
        os.symlink(ROOT / "config", f"{folder}/config")
        recording = Recording(program, folder)
        try:
            _, dev = recording.run(0, "freshet", "dev", "config/auctions", "--no-generate")
            lot = re.search(r'"id":"([0-9a-f-]+)"', until(dev, "subscribe GetLot"))[1]
            until(dev, "Ctrl-C")
            which = f'{{"id":"{lot}"}}'
            _, client = recording.run(1, "freshet", "subscribe", "GetLot", "--vars", which)
            until(client, '"data"')
            time.sleep(PAUSE)
            bid = f'{{"lotId":"{lot}","category":"Books","amount":1100}}'
            placing, _ = recording.run(2, "freshet", "execute", "PlaceBid", "--token", TOKEN, "--vars", bid)
            until(client, '"highestBid":1100')
            if placing.wait(WAIT) != 0:
                sys.exit("error: the bid was refused")
            time.sleep(PAUSE)
            asking, _ = recording.run(2, "freshet", "admin", "why", "GetLot", "--vars", which)
            if asking.wait(WAIT) != 0:
                sys.exit("error: the screen is stale")
            time.sleep(0.2)
            lines = list(recording.lines)
        finally:
            recording.stop()
    return lines


def wrapped(kind, text):
    first, rest = ("$ ", "    ") if kind == "in" else ("", "  ")
    # The answer's tables are as wide as they are; what is cut is in the terminal, too.
    return textwrap.wrap(
        first + text, COLUMNS, subsequent_indent=rest, drop_whitespace=False, break_on_hyphens=False,
        replace_whitespace=False) or [""]


def draw(lines):
    """Rows in the order of the terminals; each is hidden until its time."""
    shift, former, shown = 0.0, 0.0, []
    for at, terminal, kind, text in sorted(lines, key=lambda line: line[0]):
        shift += max(0.0, at - former - PAUSE)
        former = at
        shown += [(at - shift, terminal, kind, row) for row in wrapped(kind, text)]
    size, width, row = 13, 8, 18
    y, body = 0, []
    for number, title in enumerate(TERMINALS):
        own = [line for line in shown if line[1] == number]
        while own and not own[-1][3].strip():
            own.pop()
        height = (len(own) + 2) * row
        body.append(f'<rect y="{y}" width="{COLUMNS * width + 32}" height="{height + row // 2}" rx="8" class="t"/>')
        body.append(f'<text x="16" y="{y + 22}" class="h">{number + 1}  {html.escape(title)}</text>')
        for index, (at, _, kind, text) in enumerate(own):
            if text.strip():
                body.append(
                    f'<text x="16" y="{y + (index + 2) * row + 12}" class="{kind}" '
                    f'style="animation-duration:{at:.2f}s">{html.escape(text)}</text>')
        y += height + 20
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * width + 32} {y - 11}" role="img" \
aria-labelledby="title">
<title id="title">freshet dev serves the sample; a client follows a lot; a bid in another terminal reaches it at once; \
freshet admin why says that the screen is fresh</title>
<style>
text {{ font: {size}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #e6ebef; white-space: pre }}
.t {{ fill: #12171c }} .h {{ fill: #9fadb9 }} .in {{ fill: #4fd1bd; font-weight: 600 }}
.in, .out {{ animation: hidden 1s step-end }}
@keyframes hidden {{ from, to {{ opacity: 0 }} }}
@media (prefers-reduced-motion: reduce) {{ .in, .out {{ animation: none }} }}
</style>
{chr(10).join(body)}
</svg>
"""


def main():
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".build/debug/freshet").resolve()
    if not os.access(program, os.X_OK):
        sys.exit(f"error: {program} is not there; `make build` makes it")
    target = pathlib.Path(__file__).with_name("session.svg")
    target.write_text(draw(record(program)))
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
