#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that each rule of dependencies.py refuses what it forbids, on small made-up trees."""
import tempfile
import unittest
from pathlib import Path

import dependencies


def tree_of(files):
    """Returns a Tree of the given {path: text}, as if it were the project."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return dependencies.Tree(Path(folder).resolve()).read()


def violations_of(files):
    tree = tree_of(files)
    return [*dependencies.check_includes(tree), *dependencies.check_words(tree), *dependencies.check_circles(tree)]


class DependencyRules(unittest.TestCase):
    def assert_refused(self, files, *words):
        found = violations_of(files)
        self.assertTrue(any(all(word in line for word in words) for line in found), found)

    def test_allows_a_worker_to_use_models_and_transports(self):
        self.assertEqual([], violations_of({
            "gan/a.hpp": "#include <torch/nn/module.h>\n",
            "comm/transport/transport.hpp": "#include <mpi.h>\n",
            "worker/loop.cpp": '#include "gan/a.hpp"\n#include "comm/transport/transport.hpp"\n'}))

    def test_refuses_an_include_against_the_arrows(self):
        for name, header in (("job/a.cpp", "worker/b.hpp"), ("job/a.cpp", "python/open/b.hpp"), ("gan/a.cpp", "python/open/b.hpp"),
                             ("python/read/a.cpp", "job/b.hpp"), ("python/open/a.cpp", "python/call/b.hpp")):
            self.assert_refused({name: f'#include "{header}"\n', header: ""}, name, header)

    def test_refuses_data_that_includes_the_rest_of_gan(self):
        self.assert_refused({"data/a.cpp": '#include "gan/loss.hpp"\n', "gan/loss.hpp": ""}, "data/a.cpp", "gan/loss.hpp")

    def test_refuses_libtorch_in_the_coordinator_however_indirectly(self):
        self.assert_refused({"coordinator/a.cpp": '#include "checkpoint/b.hpp"\n',
                             "checkpoint/b.hpp": "#include <ATen/core/Tensor.h>\n"}, "coordinator/a.cpp", "LibTorch", "checkpoint/b.hpp")

    def test_refuses_a_library_where_it_may_not_enter(self):
        for name, header, library in (("comm/a.cpp", "run/control/control.pb.h", "Protobuf"), ("gan/a.cpp", "mpi.h", "MPI"),
                                      ("worker/a.cpp", "Python.h", "Python"), ("python/open/a.cpp", "pybind11/pytypes.h", "Python"),
                                      ("pipeline/a.cpp", "fmt/format.h", "standard library")):
            self.assert_refused({name: f"#include <{header}>\n"}, name, library)

    def test_refuses_torch_and_protobuf_in_one_file(self):
        self.assert_refused({"worker/a.cpp": '#include <torch/torch.h>\n#include "run/control/control.pb.h"\n'}, "meet")

    def test_refuses_a_model_that_knows_its_rank(self):
        for line in ("int rank;", "int my_rank_ = 0;", "void set(Rank r);", "int num_rank;"):
            for name in ("gan/a.cpp", "job/models/a.cpp"):
                self.assert_refused({name: line + "\n"}, f"{name}:1", "rank")

    def test_allows_words_that_contain_rank_and_comments(self):
        self.assertEqual([], violations_of({"gan/a.cpp": "int franking;  // no rank here\n"}))

    def test_refuses_folders_that_need_one_another(self):
        self.assert_refused({"comm/a/one.hpp": '#include "comm/b/two.hpp"\n', "comm/b/two.hpp": "",
                             "comm/b/three.cpp": '#include "comm/a/four.hpp"\n', "comm/a/four.hpp": ""}, "comm/a, comm/b")

    def test_refuses_a_header_that_needs_what_needs_its_source(self):
        self.assert_refused({"job/a.hpp": "", "job/a.cpp": '#include "job/b.hpp"\n', "job/b.hpp": '#include "job/a.hpp"\n'},
                            "files", "job/a, job/b")


if __name__ == "__main__":
    unittest.main()
