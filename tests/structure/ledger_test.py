#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests ledger.py: its counts, its refusal of growth, and the form of entries that raise rows."""
import tempfile
import unittest
from pathlib import Path

import ledger
import plain_text

CLASS = """
/// struct Comment { int a; };
class Shared final : public Base<int, long> {
 public:
  explicit Shared(int a, Options options = {.deep = {1, 2}});
  int size() const { return static_cast<int>(map_.size()); }
  static constexpr int kMost = 3;
  struct Part { int one; int two; };
  using Map = std::map<int, std::vector<int>>;
  void call(const std::function<void(int)>& then);

 private:
  Map map_;
  std::function<void(int, long)> told_;
  std::array<int, 3> sizes_{};
  Base* base_ GUARDED_BY(mutex_) = nullptr;
  [[nodiscard]] bool ended() const;
  char separator_ = ';';
};
enum class Kind { kOne, kTwo };
"""


class Ledger(unittest.TestCase):
    def test_counts_data_members_only(self):
        self.assertEqual({"Shared": 5, "Part": 2}, dict(ledger.classes_of(CLASS)))

    def test_counts_the_lines_of_functions_and_methods(self):
        body = "  g(1,\n    2);\n  if (a) {\n  }\n" * 20
        text = f"void short() {{\n}}\n\nint f(int a,\n       int b) {{\n{body}}}\n\nclass C {{\n  void h() const {{\n    g();\n  }}\n}};\n"
        self.assertEqual([("short", 2), ("f", 83), ("h", 3)], [*ledger.functions_of(text.splitlines())])

    def test_lists_what_is_above_its_limit(self):
        members = "".join(f"  int m{number}_ = 0;\n" for number in range(ledger.MAX_MEMBERS + 1))
        body = "  g();\n" * ledger.MAX_FUNCTION_LINES
        self.assertEqual({"class a.hpp Big, data members": 21, "function a.cpp f, lines": 62, "file b.cpp, lines": 801},
                         ledger.large_ones({"a.hpp": f"struct Big {{\n{members}}};\n", "a.cpp": f"void f() {{\n{body}}}\n",
                                            "b.cpp": "\n" * (ledger.MAX_FILE_LINES + 1), "c.hpp": "struct Small { int a; };\n"}))

    def test_refuses_what_is_above_its_row_or_has_none(self):
        rows = ledger.rows_of("| types | 1,700 | |\n")
        self.assertEqual([], [*ledger.violations_of({"types": 1700}, rows)])
        self.assertEqual(2, len([*ledger.violations_of({"types": 1701, "keys": 1}, rows)]))

    def test_a_raise_names_what_it_is_for_and_what_left(self):
        self.assertEqual({"types": 110}, ledger.rows_of("| types | 100 | +4 for a, and b left; +6 for c, and d left |\n"))
        for words in ("+4", "+4 for a", "+4 for a, b left", "4 for a, and b left", "+4 for a, and b left; +6 for c"):
            with self.assertRaises(ValueError, msg=words):
                ledger.rows_of(f"| types | 100 | {words} |\n")

    def test_lowers_rows_to_the_counts_and_drops_those_without_one(self):
        text = "| what | at most | raised by |\n|---|---|---|\n| a | 5 | +2 for x, and y left |\n| gone | 4 | |\n| b | 3 | |\n"
        self.assertEqual("| what | at most | raised by |\n|---|---|---|\n| a | 6 | |\n| b | 3 | |\n",
                         ledger.lowered(text, {"a": 6, "b": 9}))

    def test_counts_what_makes_a_page_hard_to_read(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            page.write_text("# A page\n\nA worker sends. " + "One " * 36 + "\nline" * 6 + f"\n| a | {'c' * 201} |\n|---|---|\n\n"
                            "```\n" + "code " * 40 + "\n```\n\nNobody reads `whoever` [who](whom.md).\n")
            counts = plain_text.counts_of_page(page)
            self.assertEqual({"sentences over 35 words": 1, "table cells over 200 characters": 1, "paragraphs over 6 lines": 1,
                              "vague subjects": 2}, {name: counts[name] for name in list(counts)[3:]})

    def test_counts_vague_and_long_comments(self):
        long = "word " * 30
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.cpp").write_text(f'// Sends to\n// {long}peers.\nint who;  // nobody reads\n//   who\nauto a = "who";\n')
            (Path(folder) / "a.py").write_text(f'"""Calls `who` {long};\n\n{long}\n"""\nwho = """\nwho"""  {chr(35)} whoever\n')
            found = [(kind, source.name, number) for kind, source, number, _ in plain_text.unplain_comments(Path(folder))]
        self.assertEqual([("long", "a.cpp", 1), ("vague", "a.cpp", 3), ("vague", "a.py", 6), ("long", "a.py", 1)], found)


if __name__ == "__main__":
    unittest.main()
