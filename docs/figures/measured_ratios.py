#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the ratios that docs/measurements.md states as docs/figures/measured_ratios.svg. Standard library alone.

    measured_ratios.py            writes the figure
    measured_ratios.py --check    exit code 1 where the committed figure is not what the page gives

Every number, range, date and machine is read from the page: `groups` says which cells of which tables.
"""
import math
import re
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
FIGURE = Path(__file__).with_suffix(".svg")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
RANGE = re.compile(r"\((\d+(?:\.\d+)?)–(\d+(?:\.\d+)?)\)")

# --- What is drawn ----------------------------------------------------------------------------------------------------

ONE_HOST = "Against PyTorch DistributedDataParallel, one host"
TWO_HOSTS = "Two hosts at 1 Gbit/s"
STALL = "Checkpoints behind the training"
DISK = "The store and the disk"
ALL_REDUCE = "All-reduce"
KILLED = "Runs that are killed whole"
NETWORKS = ("DCGAN-32, width 64", "InfoGAN net")
ASYNC_SAVE = ("PyTorch 2.11 `async_save`, default, state on each process", "the same, sharded",
              "the same, sharded, staged by a thread",
              "the same, sharded, with the benchmark's stager that keeps its memory")
STATES = ("500 MB, 2 workers", "50 MB, 2 workers")


@dataclass
class Ratio:
    label: str
    value: float
    low: float = 0.0  # of the rounds; 0: the page has no range
    high: float = 0.0


@dataclass
class Group:
    title: str
    measured: str  # the section whose text says when and on what
    ratios: list


def groups(page):
    """The groups of the figure, from top to bottom."""
    def beside(title, one_host, two_hosts):
        return [Group(f"Images a second / those of {title}, {place}", section,
                      [page.ratio(section, network, column, network.split(",")[0]) for network in NETWORKS])
                for place, section, column in (("one host", ONE_HOST, one_host), ("two hosts", TWO_HOSTS, two_hosts))]

    def stall(row, state):
        return page.numbers(STALL, row, state)[0]  # p50, milliseconds

    waited = "compute waited more; share of the time"
    return [
        *beside("the best tuned PyTorch DDP", "Gangway / best tuned DDP", "Gangway / best DDP"),
        *beside("two processes that never talk", "Gangway / never talk", "Gangway / never talk"),
        Group("Stall of PyTorch's async_save / stall of a checkpoint (p50)", STALL, [
            Ratio(f"{state.split(',')[0]} of state, its {name}",
                  min(stall(row, state) for row in rows) / stall(waited, state))
            for state in STATES for name, rows in (("default", ASYNC_SAVE[:1]), ("fastest variant", ASYNC_SAVE))]),
        Group("Checkpoint's bandwidth / the disk's own, hashes on", STALL, [
            page.percentage(DISK, row, state, f"{state.split(',')[0]}, {row.split(',')[0]}")
            for row in ("save, from the whole snapshot to the committed manifest", "load, every chunk verified")
            for state in STATES]),
        Group("Time of MPI_Allreduce / time of an exact all-reduce", ALL_REDUCE, [
            *(Ratio(f"{size}, shared memory, 2 workers", page.numbers(ALL_REDUCE, size, "shm, 2 workers")[1])
              for size in ("16 MiB", "64 MiB")),
            *(Ratio(f"{size}, between two hosts", page.numbers(ALL_REDUCE, size, "MPI_Allreduce between")[0]
                    / page.numbers(ALL_REDUCE, size, "messages between 2 hosts")[0])
              for size in ("4 MiB", "64 MiB")),
            page.messages_within_a_host()]),
    ]


# --- Reading the page -------------------------------------------------------------------------------------------------

class Page:
    """The tables of a Markdown page by section. Raises KeyError naming what the page has no longer."""

    def __init__(self, text):
        self.sections = {}
        for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
            title, _, body = part.partition("\n")
            self.sections[title.strip()] = body

    def cell(self, section, row, column):
        """The cell of the row that is called `row`, in a column whose head begins with `column`."""
        head = []
        for line in self.sections[section].splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
            head = (head or cells) if cells else []
            if cells and cells[0] == row:
                for name, value in zip(head, cells):
                    if name.startswith(column):
                        return value
        raise KeyError(f"docs/measurements.md, '{section}': no cell '{row}' x '{column}'")

    def numbers(self, section, row, column):
        return [float(number) for number in NUMBER.findall(self.cell(section, row, column))]

    def ratio(self, section, row, column, label, unit=1.0):
        found = RANGE.search(self.cell(section, row, column))
        low, high = (float(found[1]) / unit, float(found[2]) / unit) if found else (0.0, 0.0)
        return Ratio(label, self.numbers(section, row, column)[0] / unit, low, high)

    def percentage(self, section, row, column, label):
        return self.ratio(section, row, column, label, unit=100.0)

    def circumstances(self, section):
        """Dates and machine that the section names first."""
        dates = sorted(set(re.findall(r"20\d\d-\d\d-\d\d", self.sections[section])))
        machine, = self.said(section, r"(\d+ virtual cores(?: of an [A-Z]\w+ [A-Z]\w+)?)")
        return f"{' and '.join(dates)}, {machine}"

    def said(self, section, pattern):
        """What a sentence of the section says."""
        found = re.search(pattern, " ".join(self.sections[section].split()))
        if not found:
            raise KeyError(f"docs/measurements.md, '{section}': no longer says '{pattern}'")
        return found.groups()

    def messages_within_a_host(self):
        low, high = self.said(ALL_REDUCE, r"slower than MPI_Allreduce up to 16 MiB \((0\.\d+) to (0\.\d+) of it\)")
        return Ratio("1 to 16 MiB, messages within a host", float(low), float(low), float(high))


# --- Drawing ----------------------------------------------------------------------------------------------------------

WIDTH, LEFT, RIGHT, ROW = 860, 300, 700, 17
LOWEST, HIGHEST, TICKS = 0.33, 10.5, (0.5, 1, 2, 5, 10)
STYLE = """
  text { font: 12px "DejaVu Sans", Verdana, sans-serif; fill: #1c2733; }
  .title { font-size: 15px; font-weight: bold; } .group { font-weight: bold; } .note { font-size: 11px; fill: #45525f; }
  .paper { fill: #ffffff; } .grid { stroke: #d4dae0; } .one { stroke: #1c2733; stroke-width: 1.5; }
  .above { fill: #1f6f9f; stroke: #1f6f9f; } .below { fill: #b3402a; stroke: #b3402a; } .range { stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e3e8ed; } .note { fill: #a3afba; } .paper { fill: #0f151b; } .grid { stroke: #313b45; }
    .one { stroke: #e3e8ed; } .above { fill: #6bbce8; stroke: #6bbce8; } .below { fill: #f2906f; stroke: #f2906f; }
  }
"""


def place(ratio):
    """The abscissa of a ratio: logarithmic, so that twice and half are equally far from 1."""
    share = (math.log(ratio) - math.log(LOWEST)) / (math.log(HIGHEST) - math.log(LOWEST))
    return round(LEFT + share * (RIGHT - LEFT), 1)


def text(x, y, words, kind="", anchor="start"):
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'


def draw_ratio(ratio, y):
    kind = "above" if ratio.value >= 1.0 else "below"
    figure = f"{ratio.value:.2f}"
    yield text(LEFT - 12, y + 4, ratio.label, anchor="end")
    if ratio.low:
        yield f'<line class="{kind} range" x1="{place(ratio.low)}" y1="{y}" x2="{place(ratio.high)}" y2="{y}"/>'
        figure += f" ({ratio.low:.2f}–{ratio.high:.2f})"
    yield f'<circle class="{kind}" cx="{place(ratio.value)}" cy="{y}" r="4.5"/>'
    yield text(RIGHT + 16, y + 4, figure)


def draw_scale(top, bottom):
    for tick in TICKS:
        kind, x = "one" if tick == 1 else "grid", place(tick)
        yield f'<line class="{kind}" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>'


def draw(page):
    marks = [text(place(tick), 68, f"{tick}", "note", "middle") for tick in TICKS]
    y = 70
    for group in groups(page):
        y += 20
        marks.append(text(16, y, group.title, "group"))
        marks.append(text(WIDTH - 16, y, page.circumstances(group.measured), "note", "end"))
        marks += draw_scale(y + 8, y + 14 + ROW * len(group.ratios))
        for number, ratio in enumerate(group.ratios):
            marks += draw_ratio(ratio, y + 18 + ROW * number)
        y += 12 + ROW * len(group.ratios)
    height = y + 54
    killed, = page.said(KILLED, r"(\d+ of \d+) digests equal to the undisturbed run's")
    day, = page.said(KILLED, r"(20\d\d-\d\d-\d\d), 2 virtual cores")
    marks += [
        text(16, 28, "What has been measured: ratios, right of 1 is better", "title"),
        text(16, 46, "Medians; in brackets the smallest and the largest round. How, under which conditions, and what is "
             "not reached: docs/measurements.md", "note"),
        text(16, y + 24, f"Exact: after a kill at a random moment {killed} runs ended with the digest of the "
             "undisturbed run.", "group"),
        text(16, y + 41, f"Killed on {day}, 1 to 4 workers before and after. One host: two workers of one thread. Two "
             "hosts: played by one machine, 1 Gbit/s between them.", "note")]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        'aria-label="Measured ratios of Gangway and what it is compared with">',
        "<!-- Made by docs/figures/measured_ratios.py from docs/measurements.md: change those. -->",
        f"<style>{STYLE}</style>", f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        *marks, "</svg>", ""])


def main(arguments):
    figure = draw(Page((DOCS / "measurements.md").read_text()))
    if arguments == ["--check"]:
        if not FIGURE.is_file() or FIGURE.read_text() != figure:
            print("docs/figures/measured_ratios.svg is not what docs/measurements.md gives: run docs/figures/measured_ratios.py")
            return 1
        return 0
    FIGURE.write_text(figure)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
