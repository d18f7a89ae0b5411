#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `gangway run --trace` leaves: where communication ran beside compute, and the same weights as without it.

    GANGWAY_BIN=build/release/bin trace_steps.py [unittest arguments]
"""
import json
import os
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings

SMALL = ["model.width=16", "training.microbatches=4", "training.kimg=0.768", "output.pictures_kimg=0"]  # 12 steps
FIRST, END = 4, 10


def interval(event):
    return event["ts"], event["ts"] + event["dur"]


def overlap(left, right):
    (a, b), (c, d) = interval(left), interval(right)
    return max(a, c) < min(b, d)


class Trace(Trainings):
    def trace(self, run, *arguments):
        self.train(EXAMPLES / "fashion-mnist.yaml", *SMALL, "--trace", f"{FIRST}:{END}", *arguments, run=run, workers=2)
        folder, = (self.folder / "runs").glob(f"*-{run}")
        return json.loads((folder / "trace/trace.json").read_text())["traceEvents"]

    def forwards_beside_the_discriminators_exchange(self, events):
        """Pairs of a generator's forward in its own phase and a stretch of the discriminator's exchange."""
        forwards = [e for e in events if e.get("cat") == "compute" and e["name"].startswith("forward generator")
                    and e["args"]["phase"] == "generator"]
        exchanges = [e for e in events if e.get("cat") in ("lane", "exchange")
                     and e["args"]["network"] == "discriminator"]
        self.assertTrue(forwards)
        self.assertTrue(exchanges)
        return [(forward, exchange) for forward in forwards for exchange in exchanges
                if forward["pid"] == exchange["pid"] and overlap(forward, exchange)]

    def test_shows_the_discriminators_exchange_under_the_generators_forward_only_across_phases(self):
        across = self.trace("across", "layout.overlap=across")
        self.assertTrue(self.forwards_beside_the_discriminators_exchange(across))
        self.assertEqual({e["pid"] for e in across}, {1, 2})
        none = self.trace("none", "layout.overlap=none")
        self.assertEqual(self.forwards_beside_the_discriminators_exchange(none), [])

    def test_holds_steps_instructions_operators_buckets_and_loader(self):
        events = self.trace("whole")
        for rank in (1, 2):
            own = [e for e in events if e["pid"] == rank]
            names = {e["name"] for e in own}
            self.assertEqual({e["args"]["step"] for e in own if e["name"].startswith("step ")},
                             set(range(FIRST, END)))
            for name in ("await generator", "await discriminator", "wait for the loader", "reduce generator",
                         "travel", "sum", "update", "weights", "sum generator bucket 0"):
                self.assertIn(name, names)
            convolutions = [e for e in own if e.get("cat") == "operator" and "conv" in e["name"]]
            self.assertTrue(convolutions)
            steps = {e["args"]["step"]: interval(e) for e in own if e["name"].startswith("step ")}
            begin, end = min(b for b, _ in steps.values()), max(e for _, e in steps.values())
            for event in convolutions:  # what gathers the losses comes behind a step; another clock: a millisecond is granted
                self.assertTrue(begin - 1000 <= event["ts"] <= end + 1000, event)

    def test_shows_the_operators_of_all_ranks(self):
        events = [e for e in self.trace("top") if e.get("cat") == "operator"]
        code, out, err = self.call(GANGWAY, "trace", "top", "--top", 1000, "--sort", "total", "--json")
        self.assertEqual(code, 0, out + err)
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([row["total_ms"] for row in rows], sorted((row["total_ms"] for row in rows), reverse=True))
        self.assertEqual({row["operator"] for row in rows}, {e["name"] for e in events})
        for row in rows:
            own = [e["dur"] for e in events if e["name"] == row["operator"]]
            self.assertEqual(row["calls"], len(own))
            self.assertAlmostEqual(row["total_ms"], sum(own) / 1000, delta=0.001)
        outermost, ends = 0.0, {}  # time in which a thread was in an operator
        for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
            begin, end = interval(e)
            outermost += max(0.0, end - max(begin, ends.get((e["pid"], e["tid"]), begin)))
            ends[e["pid"], e["tid"]] = max(end, ends.get((e["pid"], e["tid"]), end))
        self.assertAlmostEqual(sum(row["self_ms"] for row in rows), outermost / 1000, delta=outermost / 1e6)
        code, out, err = self.call(GANGWAY, "trace", "top", "--top", 3)
        self.assertEqual((code, len(out.splitlines())), (0, 5), out + err)
        self.assertRegex(out, r"^operator +calls +total ms +self ms +share\n")
        self.train(EXAMPLES / "ring8.yaml", "training.kimg=1", run="untraced", workers=1)
        code, out, err = self.call(GANGWAY, "trace", "untraced", "--top", 3)
        self.assertEqual((code, err.count("\n")), (2, 1), out + err)
        self.assertIn("has left no trace", err)

    def test_has_no_intervals_of_one_row_that_cross(self):
        rows = {}
        for event in self.trace("rows"):
            if event["ph"] == "X":
                rows.setdefault((event["pid"], event["tid"]), []).append(interval(event))
        for row, intervals in rows.items():
            around = []
            for begin, end in sorted(intervals, key=lambda one: (one[0], -one[1])):
                while around and around[-1] <= begin + 0.0005:
                    around.pop()
                self.assertFalse(around and end > around[-1] + 0.0005, (row, begin, end))
                around.append(end)

    def test_shows_shapes_and_memory_where_they_are_asked_for(self):
        self.train(EXAMPLES / "fashion-mnist.yaml", *SMALL, "--trace", f"{FIRST}:{END},shapes,memory", run="wide", workers=2)
        folder, = (self.folder / "runs").glob("*-wide")
        events = json.loads((folder / "trace/trace.json").read_text())["traceEvents"]
        shapes = [e["args"]["Input Dims"][:2] for e in events if e["name"] == "aten::conv2d"]
        self.assertIn([[16, 1, 32, 32], [16, 1, 4, 4]], shapes)
        for rank in (1, 2):
            counts = [e for e in events if e["ph"] == "C" and e["pid"] == rank]
            self.assertEqual({e["name"] for e in counts}, {"memory since the trace began"})
            self.assertGreater(max(e["args"]["bytes"] for e in counts), 1 << 20)
            self.assertEqual([e["ts"] for e in counts], sorted(e["ts"] for e in counts))
        allocated = sum(e["args"].get("allocated", 0) for e in events if e.get("cat") == "operator")
        _, out, _ = self.call(GANGWAY, "trace", "wide", "--top", 1000, "--json", "--shapes")
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(sum(row["allocated_bytes"] for row in rows), allocated)
        self.assertTrue(any(row["operator"].startswith("aten::conv2d [16,1,32,32] [16,1,4,4]") for row in rows))
        code, _, err = self.call(GANGWAY, "run", EXAMPLES / "ring8.yaml", "--trace", "1:2,kernels")
        self.assertEqual((code, err.count("\n")), (2, 1), err)
        self.assertIn("the job computes on CPUs", err)

    def test_of_ten_steps_of_a_dcgan_with_all_there_is_takes_less_than_50_mb(self):
        self.train(EXAMPLES / "fashion-mnist.yaml", "training.kimg=0.832", "output.pictures_kimg=0",
                   "--trace", "2:12,shapes,memory", run="large", workers=2)
        folder, = (self.folder / "runs").glob("*-large")
        self.assertLess((folder / "trace/trace.json").stat().st_size, 50_000_000)

    def test_tells_nvidias_profilers_the_name_of_each_instruction(self):
        if "NVTX_LISTENER" not in os.environ:
            self.skipTest("NVTX_LISTENER: the library of tests/worker/trace/nvtx_listener.cpp")
        told = self.folder / "told"
        told.mkdir()
        code, out, err = self.call(GANGWAY, "run", EXAMPLES / "fashion-mnist.yaml", *SMALL, "-n", 2,
                                   NVTX_INJECTION64_PATH=os.environ["NVTX_LISTENER"], NVTX_LISTENER_FOLDER=told)
        self.assertEqual(code, 0, out + err)
        files = list(told.iterdir())
        self.assertEqual(len(files), 2, "one of each worker")
        for file in files:
            lines, depth, names = file.read_text().splitlines(), 0, []
            for line in lines:
                depth += 1 if line.startswith("push ") else -1
                self.assertIn(depth, (0, 1), line)
                names += [line.removeprefix("push ")] if depth else []
            self.assertEqual(depth, 0)
            self.assertEqual(names.count("await generator"), 12, "one a step")
            self.assertIn("forward discriminator pass 0 micro-batch", " ".join(names))

    def test_changes_no_bit(self):
        self.trace("traced")
        self.train(EXAMPLES / "fashion-mnist.yaml", *SMALL, run="plain", workers=2)
        self.assertEqual(self.digest("traced"), self.digest("plain"))

    def test_a_trace_that_outlasts_the_run_ends_with_it(self):
        self.train(EXAMPLES / "ring8.yaml", "training.kimg=1", "--trace", "1:1000000", run="long", workers=1)
        folder, = (self.folder / "runs").glob("*-long")
        self.assertTrue(json.loads((folder / "trace/trace.json").read_text())["traceEvents"])

    def test_steps_that_are_none_get_one_line_and_2(self):
        for steps in ("5", "7:3", "a:b"):
            code, out, err = self.call(GANGWAY, "run", EXAMPLES / "ring8.yaml", "--trace", steps)
            self.assertEqual(code, 2, out + err)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn(f"--trace {steps}: give the first step", err)
        self.assertFalse((self.folder / "runs").exists())


class Exposed(Trainings):
    def test_statistics_tell_by_phase_and_bucket_what_compute_waited_for(self):
        self.train(EXAMPLES / "fashion-mnist.yaml", *SMALL, "generator.clip_norm=10", run="told", workers=2)
        folder, = (self.folder / "runs").glob("*-told")
        for line in (folder / "stats.jsonl").read_text().splitlines():
            tick = json.loads(line)
            exposed = tick["exposed"]
            self.assertEqual(set(exposed), {"discriminator", "generator"})
            self.assertEqual([exposed[phase]["agree"] for phase in ("discriminator", "generator")], [False, True])
            for phase in exposed.values():
                self.assertGreater(len(phase["by_bucket"]), 1)
                self.assertLessEqual(sum(phase["by_bucket"]), phase["seconds"] * 1.001)
            self.assertEqual(tick["unfired"], 0)


if __name__ == "__main__":
    unittest.main()
