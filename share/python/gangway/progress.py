# SPDX-License-Identifier: MIT
"""Shows a training's lines; on a terminal or in a notebook its ticks as one live line, by the package rich where it is installed."""
import importlib.util
import re

TICK = re.compile(r"tick \d+ +kimg (\S+) .*?img/s (\S+)")
KIMG = re.compile(r"job .*; (\S+) kimg, batch ")


def _live_console():
    """Returns rich's console where one line can change; None: lines are printed."""
    if importlib.util.find_spec("rich") is None:
        return None
    from rich.console import Console
    console = Console()
    has_widgets = not console.is_jupyter or importlib.util.find_spec("ipywidgets") is not None
    return console if (console.is_terminal or console.is_jupyter) and has_widgets else None


class Progress:
    def __init__(self, console=None):
        self._console, self._bar, self._task = console or _live_console(), None, None

    def __enter__(self):
        if self._console is not None:
            from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeRemainingColumn
            self._bar = Bar(TextColumn("{task.completed:g} of {task.total:g} kimg"), BarColumn(), TextColumn("{task.description}"),
                            TimeRemainingColumn(), console=self._console)
            self._bar.start()
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.stop()

    def tell(self, line: str, to) -> None:
        """Shows a line of the command's output. `to`: the stream of plain lines."""
        if self._bar is None:
            print(line, file=to, flush=True)
        elif tick := TICK.match(line):
            losses = " ".join(f"{name} {value}" for name, value in re.findall(r"(loss_\w+) (\S+)", line))
            if self._task is None:
                self._task = self._bar.add_task("", total=float(tick[1]))
            self._bar.update(self._task, completed=float(tick[1]), description=f"{float(tick[2]):.0f} img/s  {losses}")
        else:
            if job := KIMG.match(line):
                self._task = self._bar.add_task("", total=float(job[1]))
            self._bar.console.print(line, markup=False, highlight=False)
