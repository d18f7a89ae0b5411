# SPDX-License-Identifier: MIT
"""`gangway NAME` starts `python -m gangway.tools NAME` for the commands below (launch/process/environment.hpp)."""
import importlib
import signal
import sys

from gangway.errors import Failed
from gangway.tools.command_line import plain

MODULES = {"bench": "bench", "compare": "compare", "doctor": "doctor", "events": "events", "export-metrics": "export_metrics",
           "find-lr": "find_lr", "host-facts": "hosts", "import": "weights", "init": "init", "publish": "publish", "quantize": "quantize",
           "replay": "replay", "report": "report", "scale": "scale", "tune": "tune", "verify": "publish.verify"}
ENVIRONMENT = 6  # exit code (docs/run-directory.md)


def carry_out(name: str, words: list[str]) -> None:
    try:
        importlib.import_module(f"gangway.tools.{MODULES[name]}").command(words)
    except ModuleNotFoundError as error:
        raise Failed(f"gangway {name} needs the Python package {error.name}, which {sys.executable} lacks: install it with pip, or "
                     "name another interpreter in GANGWAY_PYTHON", ENVIRONMENT) from None
    try:
        sys.stdout.flush()
    except OSError as error:
        raise Failed(f"standard output: {error.strerror}: what was said is lost", ENVIRONMENT) from None


def main() -> int:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C outside noted_requests() prints no traceback
    sys.stdout.reconfigure(errors="surrogateescape")  # file names are bytes
    try:
        carry_out(sys.argv[1], sys.argv[2:])
    except Failed as error:
        sys.stdout.flush()
        for line in plain(error.line).splitlines():
            print(f"gangway: {line}", file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
