#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Output of `gangway run --trace`: overlap of communication and computation, operators, shapes, memory, and the parts of the
traced steps. The weights are those of an untraced run.

    GANGWAY_BIN=build/release/bin trace_steps.py [unittest arguments]
"""
import json
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from train_command import EXAMPLES, GANGWAY, Trainings

JOB = [EXAMPLES / "fashion-mnist.yaml", "model.width=16", "training.microbatches=4", "training.kimg=0.768",  # 12 steps
       "output.pictures_kimg=0", "output.tick_kimg=0.128", "generator.clip_norm=10"]
STEPS = 2  # per tick
FIRST, END = 4, 10


def interval(event):
    return event["ts"], event["ts"] + event["dur"]


def overlap(left, right):
    (a, b), (c, d) = interval(left), interval(right)
    return max(a, c) < min(b, d)


def traced(run):
    return json.loads((run / "trace/trace.json").read_text())["traceEvents"]


class Trace(Trainings):
    @classmethod
    def setUpClass(cls):
        """Shares one traced run: 2 workers, exchanges across phases, all details."""
        cls.shared = cls()
        cls.shared.folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared.folder, ignore_errors=True)
        cls.shared.train(*JOB, "--trace", f"{FIRST}:{END},shapes,memory", "layout.overlap=across", run="traced", workers=2)
        cls.run_folder = cls.shared.folder_of("traced")
        cls.events = traced(cls.run_folder)
        cls.ticks = [json.loads(line) for line in (cls.run_folder / "stats.jsonl").read_text().splitlines()]

    def top(self, *words):
        code, out, err = self.call(GANGWAY, "trace", self.run_folder, "--top", *words)
        self.assertEqual(code, 0, out + err)
        return out.splitlines()

    def of_rank(self, rank):
        return [e for e in self.events if e["pid"] == rank]

    def forwards_beside_the_discriminators_exchange(self, events):
        """Returns pairs of the generator's forward in its own phase and a stretch of the discriminator's exchange."""
        forwards = [e for e in events if e.get("cat") == "compute" and e["name"].startswith("forward generator")
                    and e["args"]["phase"] == "generator"]
        exchanges = [e for e in events if e.get("cat") in ("lane", "exchange")
                     and e["args"]["network"] == "discriminator"]
        self.assertTrue(forwards)
        self.assertTrue(exchanges)
        return [(forward, exchange) for forward in forwards for exchange in exchanges
                if forward["pid"] == exchange["pid"] and overlap(forward, exchange)]

    def test_shows_the_discriminators_exchange_under_the_generators_forward_only_across_phases(self):
        self.assertTrue(self.forwards_beside_the_discriminators_exchange(self.events))
        self.assertEqual({e["pid"] for e in self.events}, {1, 2})
        self.train(*JOB, "--trace", f"{FIRST}:1000000", "layout.overlap=none", run="none", workers=2)  # it ends with the run
        self.assertEqual(self.forwards_beside_the_discriminators_exchange(traced(self.folder_of("none"))), [])

    def test_holds_steps_instructions_operators_buckets_and_loader(self):
        for rank in (1, 2):
            own = self.of_rank(rank)
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
            for event in convolutions:  # losses are gathered after a step; clocks differ, so allows a millisecond
                self.assertTrue(begin - 1000 <= event["ts"] <= end + 1000, event)

    def test_shows_the_operators_of_all_ranks(self):
        events = [e for e in self.events if e.get("cat") == "operator"]
        rows = [json.loads(line) for line in self.top(1000, "--sort", "total", "--json")]
        self.assertEqual([row["total_ms"] for row in rows], sorted((row["total_ms"] for row in rows), reverse=True))
        self.assertEqual({row["operator"] for row in rows}, {e["name"] for e in events})
        for row in rows:
            own = [e["dur"] for e in events if e["name"] == row["operator"]]
            self.assertEqual(row["calls"], len(own))
            self.assertAlmostEqual(row["total_ms"], sum(own) / 1000, delta=0.001)
        self.assertRegex("\n".join(self.top(3)), r"^operator +calls +total ms +self ms +share +allocated MiB\n")

    def test_has_no_intervals_of_one_row_that_cross(self):
        rows = {}
        for event in self.events:
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
        shapes = [e["args"]["Input Dims"][:2] for e in self.events if e["name"] == "aten::conv2d"]
        self.assertIn([[16, 1, 32, 32], [16, 1, 4, 4]], shapes)
        for rank in (1, 2):
            counts = [e for e in self.of_rank(rank) if e["ph"] == "C"]
            self.assertEqual({e["name"] for e in counts}, {"memory since the trace began"})
            self.assertGreater(max(e["args"]["bytes"] for e in counts), 1 << 20)
            self.assertEqual([e["ts"] for e in counts], sorted(e["ts"] for e in counts))
        allocated = sum(e["args"].get("allocated", 0) for e in self.events if e.get("cat") == "operator")
        rows = [json.loads(line) for line in self.top(1000, "--json", "--shapes")]
        self.assertEqual(sum(row["allocated_bytes"] for row in rows), allocated)
        self.assertTrue(any(row["operator"].startswith("aten::conv2d [16,1,32,32] [16,1,4,4]") for row in rows))

    def test_takes_less_than_five_megabytes_a_step_with_all_there_is(self):
        """Twice the usual micro-batches give twice the events: 50 MB for ten steps."""
        self.assertLess((self.run_folder / "trace/trace.json").stat().st_size, 5_000_000 * (END - FIRST))

    def test_has_the_seconds_that_the_parts_of_its_steps_have(self):
        told, found = {}, {}
        for tick in self.ticks:
            if FIRST < tick["step"] <= END:
                for name, values in tick["parts_by_rank"].items():
                    told[name] = told.get(name, 0.0) + STEPS * values[0]
        own = self.of_rank(1)
        waits = [event for event in own if event.get("name") == "wait for the loader"]
        for event in own:
            work = re.fullmatch(r"(forward|backward) (generator|discriminator)\b.*", event.get("name", ""))
            if event.get("cat") == "compute" and work:
                inside = sum(wait["dur"] for wait in waits if event["ts"] <= wait["ts"] < event["ts"] + event["dur"])
                name = f"{work[2]}_{work[1]}"
                found[name] = found.get(name, 0.0) + 1e-6 * (event["dur"] - inside)
        self.assertEqual(len(found), 4, found)
        for name, seconds in found.items():  # data_copy, some microseconds, is inside of forwards too
            self.assertAlmostEqual(told[name], seconds, delta=0.02 * seconds + 0.001, msg=name)

    def test_statistics_tell_by_phase_and_bucket_what_compute_waited_for(self):
        phases = set()
        for tick in self.ticks:
            phases |= set(tick["exposed"])  # a tick leaves out a phase without waits
            for name, phase in tick["exposed"].items():
                self.assertEqual(phase["agree"], name == "generator")
                self.assertGreater(len(phase["by_bucket"]), 1)
                self.assertLessEqual(sum(phase["by_bucket"]), phase["seconds"] * 1.001)
            self.assertEqual(tick["unfired"], 0)
        self.assertEqual(phases, {"discriminator", "generator"})

    def test_changes_no_bit_and_nvidias_profilers_are_told_the_name_of_each_instruction_without_one(self):
        told = self.folder / "told"
        told.mkdir()
        code, out, err = self.call(GANGWAY, "run", *JOB, "-n", 2, "--run", "plain",
                                   NVTX_INJECTION64_PATH=os.environ["NVTX_LISTENER"], NVTX_LISTENER_FOLDER=told)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.digest("plain"), self.digest(self.run_folder))
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
        self.refused(2, "trace", "plain", "--top", 3, says=["has left no trace"])
        self.refused(2, "run", *JOB, "--trace", "7:3", says=["--trace 7:3: give the first step"])
        self.refused(2, "run", *JOB, "--trace", "1:2,kernels", says=["the job computes on CPUs"])


if __name__ == "__main__":
    unittest.main()
