#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests shared parts of tools: progress, tables, foreign text, step figures, commands, files."""
import argparse
import errno
import io
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
from gangway import Failed  # noqa: E402
from gangway.tools import measured  # noqa: E402
from gangway.tools.__main__ import carry_out  # noqa: E402
from gangway.tools.command_line import counted, listed, number, plain, require_place, table, typed, whole_number, write_whole  # noqa: E402
from gangway.tools.machine import Progress, duration_text  # noqa: E402
from gangway.tools.measured import Output, outputs_of, step_figures  # noqa: E402


class Words(unittest.TestCase):
    def test_count(self):
        self.assertEqual([counted(1, "worker"), counted(0.5, "minute")], ["1 worker", "0.5 minutes"])

    def test_that_are_no_numbers_are_named(self):
        for kind, text, says in ((whole_number(1), "1.5", "'1.5' is no whole number"), (number(0), "x", "'x' is no number"),
                                 (listed(whole_number(1, 9)), "1,10", "10 is not in the range 1 to 9"), (number(0), "nan", "range 0 to inf")):
            with self.assertRaisesRegex(argparse.ArgumentTypeError, says):
                kind(text)

    def test_name_the_command_as_it_was_typed(self):
        with mock.patch.dict(os.environ, GANGWAY_TYPED="bin/gangway"):
            self.assertEqual(typed("run", "a b"), "bin/gangway run 'a b'")


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ShownProgress(unittest.TestCase):
    def test_is_a_line_at_each_tenth(self):
        out, now = io.StringIO(), 0
        with Progress(40, out, lambda: now) as progress:
            progress.advance(0, "one worker")
            now = 30
            progress.advance(10, "two workers")
            progress.advance(1, "three workers")
            progress.advance_to(40, "the end")
        self.assertEqual(out.getvalue(), "measures   0 %: one worker\nmeasures  25 %: two workers, 1m 30s left\n"
                                         "measures 100 %: the end, 0s left\n")

    def test_is_a_bar_on_a_terminal_and_removed(self):
        out = Terminal()
        with Progress(4, out, lambda: 0) as progress:
            progress.advance(1, "two workers")
        self.assertIn("two workers", out.getvalue())
        self.assertNotIn("measures", out.getvalue())

    def test_says_long_times(self):
        self.assertEqual([duration_text(seconds) for seconds in (0.4, 65, 3661, 90061, float("nan"))],
                         ["0s", "1m 05s", "1h 01m 01s", "1d 01h 01m", "0s"])


class StoppedCommands(unittest.TestCase):
    def test_that_stay_stopped_are_ended(self):
        with mock.patch.object(measured, "STOPPED_LIMIT", 0.1), self.assertRaisesRegex(Failed, "SIGSTOP"):
            measured.output_of(["sh", "-c", "kill -STOP $$"], dict(os.environ))

    def test_that_ignore_a_signal_are_ended(self):
        deaf = "trap '' TERM; kill -TERM $PPID; while :; do sleep 0.1; done"
        with mock.patch.object(measured, "LAST_LIMIT", 0.1), self.assertRaises(Failed) as failed, measured.noted_requests():
            measured.output_of(["sh", "-c", deaf], dict(os.environ))
        self.assertEqual(failed.exception.code, 128 + signal.SIGTERM)


class Figures(unittest.TestCase):
    def tick(self, step, seconds, exposed=0, sent=0):
        return f'{{"step": {step}, "seconds_tick": {seconds}, "exposed_percent": {exposed}, "sent_mib_per_step": {sent}}}\n'

    def test_leave_out_the_first_steps(self):
        figures = step_figures(self.tick(3, 100) + self.tick(6, 6, 50, 2) + self.tick(9, 3, 0, 2) + self.tick(11, 3, 0, 2), 3)
        self.assertEqual(figures, (1.5, 3 / 8, 2 * 2**20))

    def test_are_refused_where_nothing_is_left_or_a_line_is_foreign(self):
        for stats, says in ((self.tick(3, 1), "too short"), ("no JSON\n", "of one build"), ('{"step": 3}\n', "of one build")):
            with self.assertRaises(Failed) as failed:
                step_figures(stats, 3)
            self.assertIn(says, failed.exception.line)


class CommandsTogether(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.pipe = Path(folder.name) / "pipe"
        os.mkfifo(self.pipe)

    def test_run_at_the_same_time_and_tell_each_ones_end(self):
        ends = outputs_of([["sh", "-c", f"cat {self.pipe}; exit 3"], ["sh", "-c", f"echo met > {self.pipe}"]], dict(os.environ))
        self.assertEqual(ends, [Output(3, "met\n"), Output(0, "")])

    def test_end_with_a_tool_that_is_told_to_end_or_killed(self):
        program = ("import os, sys\nfrom gangway.tools.measured import outputs_of\n"
                   "outputs_of(2 * [['sh', '-c', 'exec 3> ' + sys.argv[1] + '; echo begun >&3; exec sleep 60']], dict(os.environ))\n")
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number=number):
                tool = subprocess.Popen([sys.executable, "-c", program, self.pipe], stderr=subprocess.DEVNULL,
                                        env={**os.environ, "PYTHONPATH": str(ROOT / "share/python")})
                with open(self.pipe) as said:
                    self.assertEqual([said.readline(), said.readline()], ["begun\n", "begun\n"])
                    tool.send_signal(number)
                    self.assertEqual(said.read(), "")  # end of file: no process holds the pipe
                self.assertNotEqual(tool.wait(), 0)


class Files(unittest.TestCase):
    def test_that_cannot_be_written_cost_one_line(self):
        for error, says in ((OSError(errno.ENOSPC, "No space left on device"), "a temporary file: No space left on device"),
                            (PermissionError(errno.EACCES, "Permission denied", "/root/x"), "^/root/x: Permission denied")):
            with mock.patch("gangway.tools.find_lr.command", side_effect=error), self.assertRaisesRegex(Failed, says) as failed:
                carry_out("find-lr", [])
            self.assertEqual(failed.exception.code, 6)
        with open("/dev/full", "w") as full:
            done = subprocess.run([sys.executable, "-m", "gangway.tools", "host-facts", "127.0.0.1"], stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "share/python")})
        self.assertEqual((done.returncode, done.stderr),
                         (6, "gangway: standard output, or a temporary file: No space left on device\n"))

    def test_are_there_when_a_signal_comes_too_late(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(
                Path, "rename", lambda old, new: (os.rename(old, new), os.kill(os.getpid(), signal.SIGTERM))):
            with measured.written_whole(Path(folder) / "file", ".hidden-") as scratch:
                (scratch / "new").write_text("whole")
            self.assertEqual([path.name for path in Path(folder).iterdir()], ["file"])

    def test_are_refused_before_any_work_if_their_folder_cannot_be_written(self):
        with mock.patch.object(os, "access", return_value=False), self.assertRaisesRegex(Failed, "/tmp: no file can be written there"):
            require_place(Path("/tmp/job.yaml"))

    def test_are_written_whole_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "job.tuned.yaml"
            write_whole(file, "a: 1\n")
            write_whole(file, "a: 2\n")
            self.assertEqual((file.read_text(), [*Path(folder).iterdir()]), ("a: 2\n", [file]))
            for place in (Path(folder) / "nowhere/x", Path("/dev/null"), Path(folder)):
                with self.assertRaises(Failed):
                    write_whole(place, "a: 3\n")


class Tables(unittest.TestCase):
    def test_show_no_characters_that_a_terminal_obeys(self):
        self.assertEqual(plain("a\x1b[31m\tb\n\x07\x9bä"), "a?[31m\tb\n??ä")

    def test_align_columns(self):
        self.assertEqual(table(["name", "ms"], [["a", "1"], ["bcdef", "200"]], left=1),
                         "name    ms\n-----  ---\na        1\nbcdef  200\n")
        self.assertEqual(table(["ms", "what", "n"], [["1", "a", "20"], ["200", "b", "3"]], left={1}),
                         " ms  what   n\n---  ----  --\n  1  a     20\n200  b      3\n")


class Text(unittest.TestCase):
    def test_of_others_does_not_steer_the_terminal(self):
        for text, shown in (("a\tb\nß 金", "a\tb\nß 金"), ("\x1b[31m\r\x7f\x00\x0b", "?[31m????"), ("\x85\x9b\xa0", "??\xa0"),
                            (b"\xffa".decode(errors="surrogateescape"), "?a")):
            self.assertEqual(plain(text), shown)


class Packages(unittest.TestCase):
    def test_whose_import_is_interrupted_cost_no_traceback(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "shlex.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
            done = subprocess.run([sys.executable, "-m", "gangway.tools", "events", "none"], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": f"{folder}:{ROOT / 'share/python'}"})
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGINT, ""))

    def test_that_python_lacks_are_named(self):
        with mock.patch("gangway.tools.find_lr.command", side_effect=ModuleNotFoundError(name="yaml")), \
                self.assertRaisesRegex(Failed, "gangway find-lr needs the Python package yaml, which .* lacks: install it"):
            carry_out("find-lr", [])


if __name__ == "__main__":
    unittest.main()
