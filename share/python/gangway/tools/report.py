# SPDX-License-Identifier: MIT
"""A run's page as one HTML file."""
from pathlib import Path
from typing import NamedTuple

from gangway.tools.command_line import Parser, plain, write_whole
from gangway.tools.page import static_page
from gangway.tools.recorded import whole_run
from gangway.tools.run_view import run_document


class Report(NamedTuple):
    file: Path
    pictures: int  # that are in it
    left_out: int


def report(run, output=None, outdir="runs") -> Report:
    """@param run  a run directory, or the name of a run in `outdir`; output: the file; None: report.html in the run directory
    Raises Failed where there is no such run, or the file cannot be written."""
    folder = whole_run(run, outdir, "a report is of a run, not of a checkpoint: leave @{} out")
    document = run_document(folder)
    file = Path(output or folder / "report.html")
    write_whole(file, static_page(document, f"{folder.name} · Gangway"))
    return Report(file, len(document["pictures"]), document["pictures_left_out"])


def command(words: list[str]) -> None:
    parser = Parser("report", "Write a run's page as one HTML file, for any browser",
                    "Example:\n  gangway report fashion-mnist --output clothes.html\n"
                    "It needs no server, and nothing of it is fetched from elsewhere.")
    parser.add_run()
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (RUN/report.html)")
    line = parser.parse_args(words)
    written = report(line.run, line.output, line.outdir)
    print(plain(str(written.file)))
    if written.left_out:
        print(f"{written.pictures} of {written.pictures + written.left_out} pictures are in it, evenly spaced")
