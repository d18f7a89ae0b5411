#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Watches and steers a live job of 3 workers from other processes, by every verb of docs/control.md. Answers come quickly,
commands take effect at a lease's boundary, and no bit changes.

    GANGWAY_BIN=build/release/bin control.py [unittest arguments]      with .venv/bin/python: grpcio is in there
"""
import json
import os
import random
import re
import stat
import time
import unittest
from pathlib import Path

import grpc

from control_calls import SERVICE, Control, place_of
from train_command import GANGWAY, Shared, Trainings, descendants

JOB = """
model: {family: mlp, width: 32, latent: 2}
data: {source: "toy:ring8"}
training: {kimg: 640, batch: 64, microbatches: 4}
checkpoint: {every_kimg: 0}
output: {tick_kimg: 6.4, pictures_kimg: 0}
"""  # 10,000 steps: longer than any test
ENDLESS = "training.kimg=1000000"
COMMANDS = int(os.environ.get("COMMANDS", "60"))
SHORT = [f"training.kimg={COMMANDS * 0.64}"]  # ten steps a command


class Steered(Trainings):
    def setUp(self):
        super().setUp()
        (self.folder / "job.yaml").write_text(JOB)

    def begin(self, *arguments, workers=3, run="job", **variables):
        """Starts a job and waits until it trains or is paused. Returns it and its run directory."""
        running = self.start("run", "job.yaml", "-n", workers, "--run", run, *arguments, name=f"said-{time.monotonic_ns()}",
                             **variables)
        running.wait_for(r"^model ")
        return running, self.run_of(run)

    def run_of(self, run):
        folder, = (self.folder / "runs").glob(f"*-{run}")
        return folder

    def gangway(self, *words, code=0):
        """Runs a command in another process. Returns its output."""
        ended, out, err = self.call(GANGWAY, *words)
        self.assertEqual(ended, code, out + err)
        return out + err

    def begin_to_train(self, *arguments, **options):
        running, run = self.begin(*arguments, **options)
        with Control(run) as control:
            control.wait_until(lambda now: now.step > 0, "the first step")
        return running, run

    def wait_for_start(self, running, run, number):
        """Returns the status after the run's start of that number has begun to train."""
        def trains():
            ended, out, _ = self.call(GANGWAY, "status", run, "--json")
            now = json.loads(out) if ended == 0 else {}  # one start is ending, or the next one beginning
            return int(now.get("start", 0)) == number and now["phase"] in ("training", "paused")
        # By the command: a grpcio client whose server left during its connect once took all memory and never returned.
        running.wait_until(trains, f"start {number}")
        with Control(run) as control:
            return control.status()

    def require_one_placement(self, run, *networks):
        """Expects equal placements from the command, the page's source and the file. @param networks  by rank"""
        placed = [(rank["rank"], rank.get("networks", ""), rank["microbatches"])
                  for rank in json.loads((run / "placement.json").read_text())["ranks"] if rank["rank"] > 0]
        told = [(worker["rank"], worker["networks"], [worker["first_microbatch"], worker["end_microbatch"]])
                for worker in json.loads(self.gangway("status", run, "--json"))["workers"]]
        self.assertEqual(told, placed)
        self.assertEqual([one for _, one, _ in placed], list(networks))

    def finish(self, running):
        self.assertEqual(running.end(), 0, running.said()[-3000:])


class OneJob(Shared, Steered):
    """The tests of a class share one job, which no test ends."""

    words = ("output.tick_kimg=0.64", ENDLESS)
    workers = 3

    @classmethod
    def begin_for_all(cls):
        cls.running, cls.run_folder = cls.owner.begin(*cls.words, workers=cls.workers)


class Verbs(Steered):
    def test_say_of_stages_what_the_placement_says(self):
        """Four workers with two micro-batches: worker indices and shares differ."""
        running, run = self.begin("layout.stages=2", "training.microbatches=2", workers=4)
        halves = [f"generator {half}, discriminator {half}" for half in ("1/2", "2/2")]
        self.require_one_placement(run, *2 * halves[:1], *2 * halves[1:])
        self.assertIn("generator 2/2", self.gangway("status", run))
        running.kill_all()

    def test_are_answered_from_another_process_and_recorded(self):
        running = self.start("run", "job.yaml", "-n", 3, "--run", "job", name="said")
        end = time.monotonic() + self.deadline
        while not list((self.folder / "runs").glob("*-job/lock")):
            self.assertLess(time.monotonic(), end, "no run directory")
        answers = []
        while not answers or answers[-1]["phase"] == "starting":
            self.assertLess(time.monotonic(), end, answers[-1:])
            answers.append(json.loads(self.gangway("status", "job", "--json")))
        self.assertEqual({answer["phase"] for answer in answers}, {"starting", "training"})
        self.assertTrue(all(answer["waits_for"] for answer in answers[:-1]), answers)
        self.assertEqual([w["device"] for w in answers[-1]["workers"]], ["cpu"] * 3)
        run = self.run_of("job")
        self.assertIn("phase   training", self.gangway("status", run))
        self.require_one_placement(run, "", "", "")
        paused = int(re.fullmatch(r"pauses after step (\d+)\n", self.gangway("pause", "job"))[1])
        with Control(run) as control:
            control.wait_until(lambda now: now.phase == "paused" and now.step == paused, "the pause")
            self.assertIn("is paused already", self.gangway("pause", "job"))
            self.assertIn(f"to resume: {GANGWAY} resume ", self.gangway("status", "job"))
            self.assertIn(f"saves step {paused}, which is pinned", self.gangway("checkpoint", "job", "--pin", "--wait", 60))
            self.assertTrue((run / f"checkpoints/step-{paused:09}.pin").exists())
            self.assertEqual(control.status().step, paused)
            self.assertIn("goes on", self.gangway("resume", "job"))
            control.wait_until(lambda now: now.step > paused, "a step after the pause")
            self.assertIn("checkpoint.every_steps is 100, was 0", self.gangway("set", "job", "checkpoint.every_steps=100"))
            control.wait_until(lambda now: now.checkpoint.step > paused and now.checkpoint.step % 100 == 0, "a checkpoint")
            self.assertIn("cannot be set", self.gangway("set", "job", "training.batch=8", code=2))
        self.assertIn("saves step", self.gangway("stop", "job"))
        self.assertEqual(running.end(), 75, running.said())
        self.assertIn("ended with exit code 75", self.gangway("status", "job"))
        self.assertIn("ended with exit code 75", self.gangway("pause", "job", code=6))
        events = self.gangway("events", "job")
        for command in ("pause", "checkpoint", "resume", "set", "stop"):
            self.assertRegex(events, rf"(?m)^ *\d+ +\S+ \S+ +{command} +\S+@\S+ by unix ")
        self.assertEqual([name for name in os.listdir(run) if name.startswith("control")], [])


class Watched(OneJob):
    def test_ticks_and_events_are_shown_to_who_watches(self):
        with Control(self.run_folder, "read") as control:
            stream = control.watch()
            self.assertEqual(next(stream).status.phase, "training")
            seen = {}
            for reply in stream:
                seen.setdefault(reply.WhichOneof("what"), reply)
                if len(seen) == 1:
                    self.gangway("checkpoint", "job")
                if {"tick", "event"} <= set(seen):
                    break
            stream.cancel()
            self.assertRegex(seen["tick"].tick.line, r"^tick \d+ ")
            self.assertEqual([loss.network for loss in seen["tick"].tick.losses], ["generator", "discriminator"])

    def test_steps_to_come_are_traced(self):
        begin, end = map(int, re.fullmatch(r"traces steps (\d+):(\d+)\n", self.gangway("trace", "job", "--next", 8)).groups())
        self.assertEqual(end - begin, 8)
        trace = self.run_folder / "trace/trace.json"
        deadline = time.monotonic() + 60
        while not trace.exists():
            self.assertLess(time.monotonic(), deadline, f"{trace} never came")
            time.sleep(0.02)
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertEqual({event["pid"] for event in events}, {1, 2, 3})
        self.assertEqual({e["args"]["step"] for e in events if e["name"].startswith("step ")}, set(range(begin, end)))
        self.gangway("trace", "job", "--next", 2)  # another
        self.gangway("trace", "job", "1:3", code=2)

    def test_threads_are_called_what_they_do(self):
        names = {}
        for pid in descendants(self.running.process.pid):
            threads = [Path(task, "comm").read_text().strip() for task in Path(f"/proc/{pid}/task").iterdir()]
            names.setdefault(Path(f"/proc/{pid}/comm").read_text().strip(), set()).update(threads)
        self.assertLessEqual({"gangway-worker", "lane", "loader", "writer", "lifeline", "tether"}, names["gangway-worker"])
        self.assertLessEqual({"disk", "page", "tether"}, names["gangway-coordin"])

    def test_clients_of_any_kind_may_see_the_service_and_call_it(self):
        with Control(self.run_folder) as control:
            service = control.pool.FindServiceByName(SERVICE)
            self.assertEqual({method.name for method in service.methods},
                             {"Status", "Watch", "Pause", "Resume", "Checkpoint", "Set", "Trace", "Drain", "Resize", "Stop"})
            health = control.channel.unary_unary("/grpc.health.v1.Health/Check")
            self.assertEqual(health(b"", timeout=20), b"\x08\x01", "serving")
            self.assertEqual(control.refused("Drain", host="x")[0], grpc.StatusCode.INVALID_ARGUMENT)
            self.assertEqual(control.refused("Set", key="a.b", value="1")[0], grpc.StatusCode.INVALID_ARGUMENT)

    def test_secrets_are_the_users_alone_and_let_read_or_steer(self):
        run = self.run_folder
        for name in ("control.json", "control.read", "control.steer"):
            self.assertEqual(stat.S_IMODE((run / name).stat().st_mode), 0o600)
        socket = Path(place_of(run)["address"].removeprefix("unix:"))
        self.assertEqual(stat.S_IMODE(socket.parent.stat().st_mode), 0o700)
        with Control(run, "read") as reader:
            self.assertEqual(reader.status().phase, "training")
            for verb in ("Pause", "Resume", "Checkpoint", "Set", "Trace", "Drain", "Resize", "Stop"):
                self.assertEqual(reader.refused(verb)[0], grpc.StatusCode.PERMISSION_DENIED, verb)
            for token in ("", "0" * 64, reader.token[:-1], reader.token + "0"):
                self.assertEqual(reader.refused("Status", token=token)[0], grpc.StatusCode.UNAUTHENTICATED)
            with self.assertRaises(grpc.RpcError) as refused:
                next(reader.watch(token="0" * 64))
            self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
        (self.folder / "guess").write_text("0" * 64)
        self.assertIn("refused: the token is not", self.gangway("pause", "job", "--token-file", "guess", code=6))
        self.assertIn("may read, and not steer",
                      self.gangway("pause", "job", "--token-file", run / "control.read", code=6))
        with Control(run) as control:
            self.assertEqual(control.status().phase, "training")


class Bits(Steered):
    def test_are_those_of_an_undisturbed_run_after_random_commands(self):
        expected = self.digest_alone("job.yaml", *SHORT)
        seed = int(os.environ.get("SEED", "7"))
        draw = random.Random(seed)
        running, run = self.begin(*SHORT, workers=2)
        with Control(run) as control:
            delays = self.command_at_random(control, draw)
            for key in ("checkpoint.every_steps", "checkpoint.every_seconds"):
                control.call("Set", key=key, value="0")  # the rest takes no time
            control.call("Resume")
        self.finish(running)
        self.assertEqual(self.digest("job"), expected, f"seed {seed}")
        self.assertEqual(len((run / "steering.jsonl").read_text().splitlines()), COMMANDS + 3)
        delays.sort()
        print(f"seed {seed}: {COMMANDS} commands, p50 {delays[COMMANDS // 2] * 1e3:.1f} ms, "
              f"p99 {delays[COMMANDS * 99 // 100] * 1e3:.1f} ms")

    def command_at_random(self, control, draw):
        """Returns the seconds of each answer. The job is paused most of the time, so that it outlasts the commands."""
        settings = [("checkpoint.keep", "1 2 5"), ("checkpoint.every_steps", "0 7 40"), ("output.tick_kimg", "0.64 3 6.4"),
                    ("checkpoint.every_seconds", "0 0.1"), ("checkpoint.snapshot_steps", "auto 0 9")]
        delays = []
        for _ in range(COMMANDS):
            verb = draw.choice(["Pause", "Pause", "Resume", "Checkpoint", "Set"])
            fields = {}
            if verb == "Checkpoint":
                fields = {"pin": draw.random() < 0.1}
            elif verb == "Set":
                key, values = draw.choice(settings)
                fields = {"key": key, "value": draw.choice(values.split())}
            begin = time.monotonic()
            control.call(verb, **fields)
            delays.append(time.monotonic() - begin)
            time.sleep(draw.random() * 0.02)
        return delays

    def test_outlive_a_pause_a_kill_and_a_resume_from_elsewhere(self):
        expected = self.digest_alone("job.yaml", *SHORT)
        running, run = self.begin(*SHORT, workers=2)
        with Control(run) as control:
            control.wait_until(lambda now: now.step > 0, "the first step")
            step = control.call("Pause").step
            control.wait_until(lambda now: now.phase == "paused", "the pause")
            control.call("Checkpoint")
            control.wait_until(lambda now: now.checkpoint.step == step, "the checkpoint")
            killed = place_of(run)["pid"]
            for value in ("2", "3", "4", "9"):
                control.call("Set", key="checkpoint.keep", value=value)
        running.kill_all()
        # Every answered command is in the record, even if the coordinator is killed right after its answer.
        record = [json.loads(line)["arguments"] for line in (run / "steering.jsonl").read_text().splitlines()]
        self.assertEqual([arguments["value"] for arguments in record[-4:]], ["2", "3", "4", "9"])
        end = time.monotonic() + self.deadline
        while Path(f"/proc/{killed}").exists():  # until its parent has reaped it
            self.assertLess(time.monotonic(), end, "the killed coordinator stays")
            time.sleep(0.01)
        self.assertRegex(self.gangway("status", "job", code=6), "pid .* is gone")
        again, run = self.begin(*SHORT, workers=1)
        again.wait_for(r"^note  paused, as tester by unix asked: gangway resume ")
        with Control(run) as control:
            now = control.wait_until(lambda now: now.phase == "paused", "the pause of before")
            self.assertEqual((now.step, now.pause.by, now.start), (step, "tester by unix", 2))
            self.assertEqual(control.call("Set", key="checkpoint.keep", value="9").text, "checkpoint.keep is 9, was 9")
        self.assertIn("goes on", self.gangway("resume", run))
        self.finish(again)
        self.assertEqual(self.digest("job"), expected)


if __name__ == "__main__":
    unittest.main()
