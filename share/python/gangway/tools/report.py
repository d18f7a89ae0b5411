# SPDX-License-Identifier: MIT
"""Writes a run's page as one HTML file."""
from pathlib import Path
from typing import NamedTuple

from gangway.tools.command_line import Parser, plain, write_whole
from gangway.tools.page import static_page
from gangway.tools.recorded import whole_run
from gangway.tools.run_view import run_document


class Report(NamedTuple):
    file: Path
    pictures: int  # in the file
    left_out: int


def report(run, output=None, outdir="runs") -> Report:
    """Writes the report of a run directory, or of a named run. @param output  None: RUN/report.html. Raises Failed if the write fails."""
    folder = whole_run(run, outdir, "a report is of a run, not of a checkpoint: leave @{} out")
    document = run_document(folder)
    file = Path(output or folder / "report.html")
    write_whole(file, static_page(document, f"{folder.name} · Gangway"))
    return Report(file, len(document["pictures"]), document["pictures_left_out"])


def command(words: list[str]) -> None:
    parser = Parser("report", "Write a run's page as one HTML file, for any browser",
                    "Example:\n  gangway report fashion-mnist --output clothes.html\n"
                    "The file needs no server and loads nothing from elsewhere.")
    parser.add_run()
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (RUN/report.html)")
    line = parser.parse_args(words)
    written = report(line.run, line.output, line.outdir)
    print(plain(str(written.file)))
    if written.left_out:
        print(f"{written.pictures} of {written.pictures + written.left_out} pictures are in it, evenly spaced")
