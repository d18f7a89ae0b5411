#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the page of runs as one file. tests/distributed/report_page.py opens it in a browser."""
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
from gangway import Failed  # noqa: E402
from gangway.tools.command_line import write_whole  # noqa: E402
from gangway.tools.page import FILES, joined_modules, static_page  # noqa: E402


class StaticPage(unittest.TestCase):
    def test_has_all_inside_and_asks_for_nothing(self):
        page = static_page({"run": 1}, "a < b & c")
        self.assertIn("<title>a &lt; b &amp; c</title>", page)
        self.assertIn('<script type="application/json" id="document">{"run":1}</script>', page)
        self.assertIn("\n<style>\n" + (FILES / "style.css").read_text()[:100], page)
        for word in ('src="', 'rel="stylesheet"', "\nimport ", "\nexport ", "https://", "<!-- style", "<!-- script", "<!-- end"):
            self.assertNotIn(word, page)

    def test_lets_no_text_of_a_run_end_its_element(self):
        page = static_page({"log": ["</script><script>alert(1)</script><!-- \\1"]}, "")
        self.assertIn(r"\u003c/script>\u003cscript>alert(1)\u003c/script>\u003c!-- \\1", page)


class Modules(unittest.TestCase):
    def test_are_joined_behind_those_that_they_import(self):
        with tempfile.TemporaryDirectory(prefix="gangway-test-") as folder:
            for name, text in (("a.js", "export function b() {\n}\n"), ("c.js", 'import { b } from "./a.js";\nconst c = b();\n'),
                               ("main.js", 'import { c } from "./c.js";\nimport { b } from "./a.js";\nb(c);\n')):
                (Path(folder) / name).write_text(text)
            self.assertEqual(joined_modules("main.js", Path(folder)), "function b() {\n}\nconst c = b();\nb(c);\n")

    def test_of_the_page_are_all_joined_and_share_no_names(self):
        script, names = joined_modules("main.js"), []
        for file in FILES.glob("*.js"):
            text = file.read_text()
            names += re.findall(r"(?m)^(?:export )?(?:async )?(?:const|let|function|class) (\w+)", text)
            self.assertIn(text.splitlines()[-2], script, file.name)
        self.assertEqual(sorted(names), sorted(set(names)))


class WrittenFile(unittest.TestCase):
    def test_is_whole_or_as_it_was(self):
        with tempfile.TemporaryDirectory(prefix="gangway-test-") as name:
            file, beside = Path(name) / "a.html", Path(name) / "a.html.tmp"
            write_whole(file, "é")
            self.assertEqual(file.read_bytes(), "é".encode())
            beside.symlink_to(file)
            for place, says in ((file, "a.html: cannot be written: "), (Path(name), "is no regular file"),
                                (Path(name) / "none/a.html", "No such file or directory")):
                with self.assertRaisesRegex(Failed, says) as failed:
                    write_whole(place, "other")
                self.assertEqual(failed.exception.code, 6)
            self.assertEqual(file.read_text(), "é")


if __name__ == "__main__":
    unittest.main()
