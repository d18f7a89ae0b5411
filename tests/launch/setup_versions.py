#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`./launch/setup --torch VERSION` in a checkout whose .venv has a Python that installs nothing and stores its arguments."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = re.search(r"^default_torch=(.+)$", (ROOT / "launch/setup").read_text(), re.MULTILINE)[1]
OTHER = "2.13"  # the default is the oldest or the newest
PYTHON = '#!/bin/sh\necho "$*" >>"$0.asked"\ncase $* in *install*) [ ! -e "$0.fails" ] ;; esac\n'
DF = "#!/bin/sh\necho\necho disk 99999999 0 99999999\n"
DPKG_QUERY = '#!/bin/sh\necho "$*" >"$0.asked"\nprintf "installed %s\\n" "$@"\n'


class SetupVersions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkout = Path(folder.name)
        for name in ("launch", ".venv/bin", ".venv/lib/python3.11/site-packages", "build/release", "tools"):
            (self.checkout / name).mkdir(parents=True)
        for name in ("setup", "progress.sh"):
            shutil.copy(ROOT / "launch" / name, self.checkout / "launch")
        (self.checkout / "build/release/build.ninja").touch()
        for path, text in ((".venv/bin/python", PYTHON), ("tools/df", DF), ("tools/dpkg-query", DPKG_QUERY)):
            (self.checkout / path).write_text(text)
            (self.checkout / path).chmod(0o755)

    def setup(self, *words):
        return subprocess.run(["bash", self.checkout / "launch/setup", *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{self.checkout / 'tools'}:{os.environ['PATH']}", "CUDACXX": "nvcc"})

    def installed(self):
        """Returns the versions of torch in pip's arguments since the last call."""
        asked = self.checkout / ".venv/bin/python.asked"
        text = asked.read_text() if asked.exists() else ""
        asked.unlink(missing_ok=True)
        return re.findall(r"torch==([0-9.]+)", text)

    def test_a_version_that_was_chosen_is_kept_until_the_default_is_chosen(self):
        self.assertEqual(self.setup("training").returncode, 0)
        (default,) = self.installed()
        self.assertTrue(default.startswith(DEFAULT + "."))
        changed = self.setup("--torch", OTHER, "training")
        self.assertEqual(self.installed(), ["2.13.0"])
        self.assertIn(f"was {default}, is 2.13.0: renew the builds by ./launch/build", changed.stdout)
        self.assertIn("installed already", self.setup("training").stdout)
        self.assertEqual(self.setup("missing").stdout, "")
        self.assertEqual(self.installed(), [])
        self.assertEqual(self.setup("--torch", DEFAULT, "training").returncode, 0)
        self.assertIn("installed already", self.setup("training").stdout)
        self.assertEqual(self.installed(), [default])

    def test_packages_of_tests_come_with_everything_alone(self):
        for words, comes in (("training",), False), (("packages",), False), (("missing",), True), ((), True):
            self.assertEqual(self.setup(*words).returncode, 0)
            asked = (self.checkout / "tools/dpkg-query.asked").read_text().split()
            self.assertIn("libspdlog-dev", asked)
            self.assertEqual(["libgtest-dev" in asked, "strace" in asked], [comes, comes], words)

    def test_a_set_up_that_failed_keeps_the_version(self):
        fails = self.checkout / ".venv/bin/python.fails"
        fails.touch()
        self.assertEqual(self.setup("--torch", OTHER, "training").returncode, 6)
        fails.unlink()
        self.assertEqual(self.setup("training").returncode, 0)
        self.assertEqual(self.installed(), ["2.13.0", "2.13.0"])

    def test_another_version_is_refused_in_a_line(self):
        for words in (("--torch", "2.16"), ("--torch",), ("--torch", "training")):
            refused = self.setup(*words)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertRegex(refused.stderr, r"^setup: --torch: '.*' is not one of the versions 2\.11 .*2\.15; choose one of them .*\n$")
        self.assertEqual(self.installed(), [])

    def test_the_engines_of_exported_generators_come_on_request_and_once(self):
        self.assertEqual(self.setup("training").returncode, 0)
        asked = self.checkout / ".venv/bin/python.asked"
        self.assertNotIn("onnxruntime", asked.read_text())
        self.assertEqual(self.setup("deploy").returncode, 0)
        self.assertRegex(asked.read_text(), r"install .*onnx==.* onnxruntime==.* openvino==")
        self.assertIn("installed already", self.setup("deploy").stdout)
        self.assertEqual(self.setup("missing").stdout, "")
        shutil.rmtree(self.checkout / ".venv")
        refused = self.setup("deploy")
        self.assertEqual((refused.returncode, refused.stderr.count("\n")), (2, 1))


if __name__ == "__main__":
    unittest.main()
