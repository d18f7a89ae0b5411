# SPDX-License-Identifier: MIT
"""`gangway NAME` starts `python -m gangway.tools NAME` for the commands below (launch/process/environment.hpp)."""
import importlib
import os
import signal
import sys

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C outside noted_requests(), as in the imports below, prints no traceback

from gangway.errors import ENVIRONMENT, Failed  # noqa: E402
from gangway.tools.command_line import plain  # noqa: E402

MODULES = {"bench": "bench", "compare": "compare", "doctor": "doctor", "events": "events", "export-metrics": "export_metrics",
           "find-lr": "find_lr", "host-facts": "hosts", "import": "weights", "init": "init", "publish": "publish", "quantize": "quantize",
           "replay": "replay", "report": "report", "scale": "scale", "tune": "tune", "verify": "publish.verify"}


def carry_out(name: str, words: list[str]) -> None:
    try:
        importlib.import_module(f"gangway.tools.{MODULES[name]}").command(words)
        sys.stdout.flush()
    except ModuleNotFoundError as error:
        raise Failed(f"gangway {name} needs the Python package {error.name}, which {sys.executable} lacks: install it with pip, or "
                     "name another interpreter in GANGWAY_PYTHON", ENVIRONMENT) from None
    except OSError as error:
        raise Failed(f"{error.filename or 'standard output, or a temporary file'}: {error.strerror or error}", ENVIRONMENT) from None


def main() -> int:
    sys.stdout.reconfigure(errors="surrogateescape")  # file names are bytes
    try:
        carry_out(sys.argv[1], sys.argv[2:])
    except Failed as error:
        try:
            sys.stdout.flush()
        except OSError:  # Python would try again at its exit, and print a traceback
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        for line in plain(error.line).splitlines():
            print(f"gangway: {line}", file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
