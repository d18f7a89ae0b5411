#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests gangway.run() up to its command: classes as a caller gives them, what is shown, how it ends. With real workers:
tests/distributed/from_python.py."""
import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
import gangway  # noqa: E402
from gangway import job_file, launch  # noqa: E402
from gangway.classes import Classes  # noqa: E402
from gangway.progress import Progress  # noqa: E402
from gangway.shown import Picture, Pictures, Stats  # noqa: E402

SCRIPT = """from __future__ import annotations
import math, own_layers
from own_layers import *
width = 2
sizes = [width]
sizes += [3]
for unused in range(3):
    pass

def doubled(value):
    return 2 * value

class Base:
    pass

@own_layers.noted
class Net(Base):
    class Inner:
        pass
    def __init__(self, rate: Unknown = math.pi):
        self.size = doubled(width) + sizes[-1] + star
    def fails(self):
        raise ValueError

class Critic:
    name = __name__

if __name__ == "__main__":
    other = object()
    class Guarded: pass
print(object())
def local():
    class Hidden: pass
    return Hidden
"""
TICK = "tick 1     kimg 1.0      time 0s   sec/kimg 0.09    img/s 10675.6  loss_g 1.003   loss_d 1.545   mem 0.15 GiB"


class Given(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.made = self.folder / "made"
        self.made.mkdir()
        for name in [name for name in sys.modules if name.startswith("own_")]:
            del sys.modules[name]
        main = sys.modules["__main__"]
        self.addCleanup(sys.modules.update, {"__main__": main})
        self.addCleanup(sys.modules.pop, "IPython", None)
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        self.write("own_layers.py", "star = 1\ndef noted(found):\n    return found\n")

    def write(self, name, text):
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)
        return self.folder / name

    def script(self, text=SCRIPT):
        """Returns __main__ after it ran as a script."""
        sys.modules["__main__"] = main = types.ModuleType("__main__")
        main.__file__ = str(self.write("train.py", text))
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, main.__file__, "exec"), vars(main))
        return main

    def made_again(self, place):
        """Returns the class as a worker would import it, from the file of its own."""
        file, _, name = place.rpartition(":")
        self.assertEqual(Path(file).parent, self.made)
        again = types.ModuleType("again")
        exec(compile(Path(file).read_text(), file, "exec"), vars(again))
        return getattr(again, name), Path(file).read_text()

    def refused(self, says, made):
        with self.assertRaisesRegex(gangway.Failed, says) as caught:
            Classes(self.made).named(made, "model.generator")
        self.assertNotIn("\n", str(caught.exception))
        self.assertTrue(str(caught.exception).startswith("model.generator: "))

    def test_of_a_script_are_a_file_of_what_they_need(self):
        main = self.script()
        classes = Classes(self.made)
        named = classes.named({"generator": (main.Net, {"rate": 1}), "discriminator": main.Critic}, "model")
        self.assertEqual(named["generator"]["rate"], 1)
        again, text = self.made_again(named["generator"]["python"])
        self.assertEqual(again().size, main.Net().size)
        self.assertIn("class Critic", text)
        self.assertTrue(text.startswith("from __future__"))
        for word in ("unused", "other", "print", "Guarded"):
            self.assertNotIn(word, text)
        self.assertEqual((self.made / "own_layers.py").resolve(), (self.folder / "own_layers.py").resolve())
        line = text.splitlines().index("        raise ValueError") + 1
        self.assertEqual(classes.told(f"from_script.py:{line} in fails: ValueError"), "train.py:23 in fails: ValueError")

    def test_depend_on_nothing_else_of_the_script(self):
        texts = [self.made_again(Classes(self.made).named(self.script(text).Net, "")["python"])[1]
                 for text in (SCRIPT, SCRIPT.replace("object()", "dict()").replace("print", "\n\nprint"))]
        self.assertEqual(*texts)

    def test_of_a_notebook_are_those_of_its_newest_cells(self):
        cells = ["", "depth = 1\nclass Base: pass\nclass Net: size = depth", "%%oops", "class Net(Base):\n  size = depth + 10", "class Base: size = -1",
                 "depth = 5"]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        for cell in cells:
            if "%" not in cell:
                exec(cell, vars(main))
        main.In = cells
        sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(user_ns=vars(main)))
        classes = Classes(self.made)
        again, text = self.made_again(classes.named(main.Net, "")["python"])
        self.assertEqual((again.size, text), (15, "depth = 5\nclass Base: pass\nclass Net(Base):\n  size = depth + 10\n"))

    def test_of_files_and_packages_are_named_where_they_lie(self):
        self.write("own_nets.py", "class Net: pass\ndef make(): return Net()\n")
        self.write("own_package/__init__.py", "from .nets import Net\nclass Top: pass\n")
        self.write("own_package/nets.py", "from . import layers\nclass Net: pass\n")
        self.write("own_package/layers.py", "")
        import own_nets
        import own_package
        from json import JSONDecoder
        classes, folder = Classes(self.made), self.folder.resolve()
        for made, place in ((own_nets.Net, f"{folder}/own_nets.py:Net"), (own_nets.make, f"{folder}/own_nets.py:make"),
                            (own_package.Net, f"{folder}/own_package.nets:Net"), (own_package.Top, f"{folder}/own_package.__init__:Top")):
            self.assertEqual(classes.named(made, ""), {"python": place})
        self.assertIs(self.made_again(classes.named(JSONDecoder, "")["python"])[0], JSONDecoder)  # an installed package's

    def test_of_a_package_are_found_in_a_run_by_a_replay(self):
        from gangway.reference import load  # imports PyTorch
        self.write("own_pair/nets.py", "from .layers import size\nclass Net: size = size\n")
        self.write("own_pair/layers.py", "size = 3\n")
        shutil.copytree(self.folder / "own_pair", self.folder / "python/HASH/own_pair")
        call, find, arguments = load.class_of(self.folder, {"python": "src/own_pair.nets:Net", "width": 4}, "HASH", trusts=True)
        self.assertEqual((find().size, arguments), (3, {"width": 4}))

    def test_are_refused_in_one_line_where_no_worker_could_import_them(self):
        main = self.script()
        self.refused("Hidden is made inside a function", main.local())
        self.refused("<lambda> is made inside a function", lambda: 1)
        self.refused("train.py:28 makes Guarded in a loop or under __name__", main.Guarded)
        old, main.Net = main.Net, None
        self.refused("Net was defined again", old)
        del main.__file__
        self.refused("keep no source", main.Critic)


class Started(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.enterContext(mock.patch.dict(os.environ, {"GANGWAY_BIN": str(self.folder)}))

    def command(self, *lines):
        """Writes the command gangway of this test."""
        (self.folder / "job.yaml").write_text("{}")
        (self.folder / "gangway").write_text("\n".join(["#!/bin/bash", f"cd {self.folder}", *lines, ""]))
        (self.folder / "gangway").chmod(0o755)

    def test_gives_classes_and_sources_their_keys(self):
        self.command('printf "%s\\n" "$@" > words', 'cp "$2" given.yaml', 'echo "gangway 0.1.0  run $PWD"')
        run = gangway.run(generator=(Picture, {"caption": "x"}), discriminator={"ema_kimg": 1}, quiet=True,
                          step="step.py:Step", data="images:faces.zip", workers=3, **{"training.kimg": 4})
        self.assertEqual(run.folder, self.folder)
        words = (self.folder / "words").read_text().splitlines()
        self.assertEqual(words[:1] + words[2:4] + words[6:8], ["run", "-n", "3", "--run", "from-python"])
        keys = job_file.parse("{" + ", ".join(word.replace("=", ": ", 1) for word in words[8:]) + "}", "")
        self.assertRegex(keys["model.generator"].pop("python"), "/from_gangway_shown.py:Picture$")
        self.assertEqual(keys, {
            "model.generator": {"caption": "x"}, "discriminator.ema_kimg": 1,
            "training.step": "step.py:Step", "data.source": "images:faces.zip", "training.kimg": 4})
        with self.assertRaisesRegex(gangway.Failed, "generator: object is no section .* each worker makes its own"):
            gangway.run(generator=object())

    def test_fails_with_the_line_of_the_command(self):
        self.command("echo 'gangway: no such key' >&2; exit 2")
        with self.assertRaisesRegex(gangway.Failed, "^no such key$") as caught:
            gangway.run({}, quiet=True)
        self.assertEqual(caught.exception.code, 2)

    def test_ends_with_the_kernel_and_with_ctrl_c(self):
        self.command("trap 'echo TERM > ended; exit 75' TERM", "trap 'echo INT > ended; exit 75' INT", "touch begun",
                     "for i in {1..600}; do sleep 0.05; done")
        for number, said in ((signal.SIGKILL, "TERM"), (signal.SIGINT, "INT")):
            (self.folder / "begun").unlink(missing_ok=True)
            (self.folder / "ended").unlink(missing_ok=True)
            program = ("import signal, gangway; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                       "try: gangway.run({}, quiet=True)\nexcept KeyboardInterrupt: print('interrupted')")
            with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "PYTHONPATH": str(ROOT / "share/python"), "TMPDIR": str(self.folder)}) as process:
                self.wait_for("begun")
                process.send_signal(number)
                self.wait_for("ended")
                self.assertEqual((self.folder / "ended").read_text(), said + "\n")
                self.assertEqual(process.stdout.read(), "interrupted\n" if number == signal.SIGINT else "")

    def wait_for(self, name):
        end = time.monotonic() + 60
        while not (self.folder / name).exists() or (name == "ended" and not (self.folder / name).read_text()):
            self.assertLess(time.monotonic(), end, f"no {name}")
            time.sleep(0.01)

    def test_a_command_that_does_not_end_is_killed(self):
        self.command("trap '' INT", "touch begun", "sleep 600 & wait; wait; wait")
        process = subprocess.Popen([self.folder / "gangway"], start_new_session=True)
        self.wait_for("begun")
        with mock.patch.multiple(launch, _SAVE_LIMIT=0.05, _END_LIMIT=0.05):
            launch._stop(process)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        os.killpg(process.pid, signal.SIGKILL)


class Shown(unittest.TestCase):
    def test_ticks_are_one_live_line_on_a_terminal_and_lines_elsewhere(self):
        from rich.console import Console
        lines = ["job    mlp, width 64; toy:ring8; 4 kimg, batch 128", TICK, "done [b]"]
        shown, plain = io.StringIO(), io.StringIO()
        for console in (Console(file=shown, force_terminal=True, width=120), None):
            with mock.patch("gangway.progress._live_console", lambda: None), Progress(console) as progress:
                for line in lines:
                    progress.tell(line, plain)
        self.assertEqual(plain.getvalue().splitlines(), lines)
        self.assertIn("1 of 4 kimg", shown.getvalue())
        self.assertIn("10676 img/s  loss_g 1.003 loss_d 1.545", shown.getvalue())
        self.assertIn("done [b]", shown.getvalue())
        self.assertNotIn("tick 1", shown.getvalue())

    def test_pictures_and_figures_show_themselves(self):
        pictures = Pictures([Picture(b"\x89PNG", "<3>"), Picture(b"", "4")])
        self.assertEqual(pictures._repr_html_().count("<img"), 2)
        self.assertIn("&lt;3&gt;", pictures._repr_html_())
        self.assertEqual(pictures[0]._repr_png_(), b"\x89PNG")
        stats = Stats([{"kimg": 1.5, "images_per_second": 30, "generator_loss": 0.25, "tick": 1}])
        self.assertIn("<td>1.5</td><td>30</td><td>0.25</td>", stats._repr_html_())
        self.assertEqual(Stats()._repr_html_().count("<tr>"), 1)


if __name__ == "__main__":
    unittest.main()
