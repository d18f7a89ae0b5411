#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The live page of a running job: its answers, access by users, and that viewers do not slow the training."""
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

from page_client import ENDLESS, RING, Events, Page, wait_until
from train_command import GANGWAY, Shared, Trainings

DASHBOARDS = Path(__file__).resolve().parents[2] / "launch" / "dashboards"
STRANGER = 65534  # user id without files or processes
PROTECTION = {"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff",
              "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer"}


class Looked(Trainings):
    deadline = 120

    def train_and_look(self, *arguments, run="seen", job=ENDLESS):
        running = self.start("run", RING, "-n", "2", "--run", run, job, "output.tick_kimg=5", "output.pictures_kimg=50",
                             *arguments, name=f"said-{run}")
        running.wait_for("^page ")
        page = Page(running, next((self.folder / "runs").glob(f"*-{run}")))
        self.addCleanup(running.kill_all)
        return page

    def end(self, page):
        page.running.send(signal.SIGTERM)
        self.assertEqual(page.running.end(), 75, page.running.said())


class OnePage(Shared, Looked):
    """The tests of a class share one page, whose job no test ends."""

    words = ()

    @classmethod
    def begin_for_all(cls):
        cls.page = cls.owner.train_and_look("output.tick_kimg=20", *cls.words)
        cls.page.running.wait_for("^tick 2 ")


class Routes(OnePage):
    words = ("checkpoint.every_kimg=50", "layout.check_steps=50")

    def test_answer_everything_that_there_is_and_nothing_else(self):
        page = self.page
        wait_until(lambda: (page.directory / "reals.png").exists(), "a picture")
        wait_until(lambda: page.get("/readyz")[0] == 200, "that it trains")
        for path, kind in {"/": "text/html", "/style.css": "text/css", "/main.js": "text/javascript",
                           "/api/run.json": "application/json", "/metrics": "text/plain", "/healthz": "text/plain",
                           "/readyz": "text/plain", "/log": "text/plain", "/log?rank=1": "text/plain",
                           "/pictures/reals.png": "image/png"}.items():
            with self.subTest(path=path):
                status, headers, body = page.get(path)
                self.assertEqual(status, 200, body[:200])
                self.assertTrue(headers["Content-Type"].startswith(kind), headers["Content-Type"])
                for name, begin in PROTECTION.items():
                    self.assertTrue(headers[name].startswith(begin), f"{name}: {headers[name]}")
                self.assertIn(headers["Cache-Control"], ("no-store", "no-cache"))
                self.assertTrue(body)
                # HEAD gives the same header without a body. Live content may have grown meanwhile.
                status, again, empty = page.get(path, method="HEAD")
                self.assertEqual((status, empty), (200, b""))
                self.assertEqual(again["Content-Type"], headers["Content-Type"])
                if "ETag" in headers:
                    self.assertEqual(page.get(path, headers={"If-None-Match": headers["ETag"]})[::2], (304, b""))
        self.assertEqual(page.get("/pictures/reals.png")[2], (page.directory / "reals.png").read_bytes())
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
            status, headers, _ = page.get("/", method=method)
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"), method)
        (page.directory / "link.png").symlink_to(page.directory / "http.json")  # tests/coordinator/http has other kinds of files
        for path in ("/nothing", "/pictures/", "/pictures/../job.yaml", "/pictures/..%2fjob.yaml", "/../../etc/passwd",
                     "/pictures/http.json", "/pictures/%2e%2e/job.yaml", "/pictures/a.png%00", "/log/../http.json",
                     "/pictures/.hidden.png", "/api", "//etc/passwd", "/pictures/link.png", "/log?rank=77"):
            self.assertEqual(page.get(path)[0], 404, path)
        for path in ("/log?rank=-1", "/log?rank=1;ls", "/log?rank=../0"):
            self.assertEqual(page.get(path)[0], 400, path)
        (page.directory / "own.wav").write_bytes(b"sounds")
        self.assertEqual(page.get("/pictures/own.wav")[1]["Content-Type"], "audio/wav")

    def test_tell_the_run_and_how_it_stands(self):
        told = wait_until(lambda: (told := self.page.json())["live"]["step"] > 0 and told["ticks"] and told, "a document with ticks")
        self.assertEqual(told["live"]["phase"], "training")
        self.assertEqual([worker["rank"] for worker in told["live"]["workers"]], [1, 2])
        self.assertEqual({loss["network"] for loss in told["live"]["losses"]}, {"generator", "discriminator"})
        self.assertEqual(told["run"]["name"], self.page.directory.name)

    def as_stranger(self, path, headers=None):
        """Returns the status that a process of another user gets."""
        script = (f"import encodings.idna,http.client as c,os;os.setgid({STRANGER});os.setuid({STRANGER});"
                  f"h=c.HTTPConnection('127.0.0.1',{self.page.port},timeout=20);h.request('GET',{path!r},headers={headers or {}!r});"
                  "a=h.getresponse();print(a.status,a.headers['Set-Cookie'] or '')")
        said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=self.deadline, cwd="/")
        self.assertEqual(said.returncode, 0, said.stderr)
        status, _, cookie = said.stdout.strip().partition(" ")
        return int(status), cookie

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_need_the_token_where_another_user_asks(self):
        """tests/coordinator/http/web/gate_test.cpp has the form of tokens."""
        page = self.page
        for name in ("http.json", "http.token"):
            self.assertEqual((page.directory / name).stat().st_mode & 0o777, 0o600, name)
        for path in ("/", "/api/run.json", "/api/events", "/metrics", "/log", "/pictures/reals.png", "/main.js"):
            self.assertEqual(self.as_stranger(path)[0], 401, path)
        for path in ("/healthz", "/readyz"):  # these contain nothing of the training
            self.assertIn(self.as_stranger(path)[0], (200, 503), path)
        self.assertEqual(self.as_stranger("/metrics", {"Authorization": f"Bearer {page.token}"})[0], 200)
        self.assertEqual(self.as_stranger(f"/metrics?token={page.token}")[0], 200)
        status, cookie = self.as_stranger(f"/?token={page.token}")  # a browser then removes it from its address
        self.assertEqual(status, 303)
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Strict", cookie)
        self.assertEqual(self.as_stranger("/", {"Cookie": f"other=1; {cookie.split(';')[0]}"})[0], 200)
        wrong = page.token[:-1] + ("0" if page.token[-1] != "0" else "1")
        self.assertEqual(self.as_stranger("/metrics", {"Authorization": f"Bearer {wrong}"})[0], 401)
        self.assertEqual(self.as_stranger(f"/metrics?token={wrong}")[0], 401)
        self.assertNotIn(page.token, page.running.said())  # other users may read logs
        self.assertNotIn(page.token, (page.directory / "logs/rank-0000.log").read_text())

    def test_show_nothing_to_a_page_of_another_site_whose_name_leads_here(self):
        page = self.page
        for host, status in {"localhost": 200, f"127.0.0.1:{page.port}": 200, "evil.example": 421, "": 421}.items():
            self.assertEqual(page.get("/api/run.json", headers={"Host": host})[0], status, host)
        with_token = {"Host": "evil.example", "Authorization": f"Bearer {page.token}"}
        self.assertEqual(page.get("/api/run.json", headers=with_token)[0], 200)

    def test_events_come_once_and_in_order_and_go_on_where_they_broke_off(self):
        page = self.page
        events = Events(page)
        events.wait_for("tick", 5)
        times = [moment for moment, *_ in events.wait_for("status", 4)][1:]  # the first one was there before
        for before, after in zip(times, times[1:]):
            self.assertGreater(after - before, 0.5)  # at most once a second
        events.close()
        ticks = [(number, data["step"]) for _, number, kind, data in events.messages if kind == "tick"]
        again = Events(page, last_id=ticks[2][0])
        again.wait_for("tick", 5)
        again.close()
        repeated = [(number, data["step"]) for _, number, kind, data in again.messages if kind == "tick"]
        self.assertEqual(repeated[:2], ticks[3:5])
        steps = [step for _, step in repeated]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertNotIn("reload", [kind for _, _, kind, _ in again.messages])

    def test_hostile_clients_cost_neither_steps_nor_descriptors_nor_memory(self):
        page = self.page
        for path in ("/", "/api/run.json", "/metrics"):
            page.get(path)
        descriptors, memory = page.descriptors(), page.resident_mib()
        long_words = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + 100_000 * b"a"
        self.assertIn(b" 431 ", page.answer_to(long_words)[:30])
        self.assertIn(b" 431 ", page.answer_to(b"GET /" + 100_000 * b"a")[:30])
        self.assertIn(b" 400 ", page.answer_to(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n123456789")[:30])
        self.assertIn(b" 400 ", page.answer_to(b"GET http://a/ HTTP/1.1\r\nHost: localhost\r\n\r\n")[:30])
        self.assertIn(b" 400 ", page.answer_to(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello, is there TLS?\r\n\r\n")[:30])
        dice = random.Random(17)
        for _ in range(200):
            with page.raw(dice.randbytes(dice.randrange(1, 2000))) as client:
                if dice.random() < 0.5:
                    client.shutdown(socket.SHUT_WR)
        # More connections than allowed: the longest idle one is closed.
        crowd = [page.raw(b"GET / HT" if number % 2 else b"") for number in range(300)]
        self.assertLess(page.descriptors(), descriptors + 270)
        self.assertEqual(page.get("/healthz")[0], 200)
        # Clients that do not read large answers, or events.
        lazy = [page.raw(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(20)]
        lazy += [page.raw(10 * b"GET /api/run.json HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(20)]
        stopped = subprocess.Popen([sys.executable, "-c", "import socket,time;s=socket.create_connection(('127.0.0.1',"
                                    f"{page.port}));s.sendall(b'GET /api/events HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n');"
                                    "print(1,flush=True);time.sleep(999)"], stdout=subprocess.PIPE)
        self.addCleanup(stopped.kill)
        stopped.stdout.readline()
        stopped.send_signal(signal.SIGSTOP)
        page.wait_for_steps(200)
        events = Events(page)  # a reading client is served meanwhile
        events.wait_for("tick", 2)
        events.close()
        for client in crowd + lazy:
            client.close()
        stopped.kill()
        stopped.wait()
        stopped.stdout.close()
        wait_until(lambda: page.descriptors() <= descriptors + 2, f"{descriptors} descriptors again")
        self.assertLess(page.resident_mib(), memory + 40)

    def queries(self):
        dashboard = json.loads((DASHBOARDS / "grafana.json").read_text())
        return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]

    @staticmethod
    def without_labels(values):
        return {name.partition("{")[0] for name in values}

    def names_in(self, queries):
        return {name for query in queries for name in re.findall(r"\b((?:gangway|process)_\w+)", query)}

    def test_have_the_metrics_that_dashboard_and_alerts_ask_for(self):
        page = self.page
        page.running.wait_for("^ckpt ")
        awaited = {"gangway_checkpoint_bytes", "gangway_gradient_norm", "gangway_training_remaining_seconds"}  # in records and in the status
        text, values = wait_until(lambda: awaited <= self.without_labels((told := page.metrics())[1]) and told, "the figures")
        told = self.without_labels(values)
        queries = self.queries()
        self.assertGreater(len(queries), 20)
        rules = (DASHBOARDS / "alerts.yaml").read_text()
        asked = self.names_in(queries) | self.names_in(re.findall(r"expr: (.*?)(?:for|labels): ", rules, re.DOTALL))
        documented = self.names_in([(Path(__file__).resolve().parents[2] / "docs/metrics.md").read_text()])
        of_gpus = {name for name in documented if name.startswith("gangway_gpu_")}  # only where there are GPUs
        self.assertEqual(len(of_gpus), 6)
        # A score needs gangway-model; skipped updates need a network in fp16.
        self.assertEqual(asked - told - of_gpus, set() if "gangway_score" in told else {"gangway_score"} & asked)
        self.assertEqual(told - documented, set())
        self.assertEqual(values['gangway_run_phase{phase="training"}'], 1)
        self.assertGreater(values["gangway_training_images_total"], 0)
        self.assertGreater(values["gangway_checkpoint_bytes"], 0)
        self.assertEqual(sum(value for name, value in values.items() if name.startswith("gangway_worker_up{")), 2)
        again = page.metrics()[1]
        for name, value in values.items():
            if name.partition("{")[0].endswith("_total"):
                self.assertGreaterEqual(again[name], value, name)
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed (apt-get install prometheus)")
        self.promtool("check", "metrics", words=text)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (apt-get install prometheus)")
    def test_alerts_fire_when_they_should_and_what_the_dashboard_asks_can_be_asked(self):
        self.promtool("check", "rules", DASHBOARDS / "alerts.yaml")
        self.promtool("test", "rules", DASHBOARDS / "alerts_test.yaml")
        queries = [query.replace("$__rate_interval", "5m").replace("$run", ".*") for query in self.queries()]
        rules = {"groups": [{"name": "dashboard", "rules": [{"record": f"panel:{number}", "expr": query}
                                                            for number, query in enumerate(queries)]}]}
        (self.folder / "rules.yaml").write_text(json.dumps(rules))  # JSON is YAML, too
        self.promtool("check", "rules", self.folder / "rules.yaml")

    def promtool(self, *words, **given):
        said = subprocess.run(["promtool", *map(str, words)], input=given.get("words"), capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        if words[1] == "metrics":
            self.assertEqual(said.stdout + said.stderr, "")  # not even advice


class Lives(Looked):
    def free_port(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            return server.getsockname()[1]

    def test_at_the_port_that_it_is_told_also_after_its_coordinator_was_killed_until_the_job_ends(self):
        port = self.free_port()
        words = (f"output.http={port}", "checkpoint.every_kimg=50")
        page = self.train_and_look(*words)
        self.assertEqual(page.port, port)
        code, _, err = self.call(GANGWAY, "run", RING, "-n", "1", "--run", "taken", f"output.http=127.0.0.1:{port}")
        self.assertEqual(code, 6, err)
        self.assertIn(f"output.http: port {port} of 127.0.0.1 cannot be listened at", err)
        page.running.wait_for("^ckpt ")
        events = Events(page)
        events.wait_for("status")
        os.kill(page.pid, signal.SIGKILL)
        wait_until(lambda: events.has_ended, "the end of the stream")
        self.assertEqual(page.running.end(), 3, page.running.said())
        again = self.train_and_look(*words[1:])  # the old port is taken; tests/coordinator/http tests this, too
        self.assertEqual((again.directory, again.port, again.token), (page.directory, port, page.token))
        self.assertNotEqual(again.pid, page.pid)
        # A viewer from before must fetch everything again.
        more = Events(again, last_id=events.messages[-1][1])
        more.wait_for("reload")
        more.wait_for("tick")
        self.end(again)
        more.wait_for("end")
        wait_until(lambda: more.has_ended, "the end of the stream")
        self.assertEqual([data["phase"] for _, _, kind, data in more.messages if kind == "status"][-1], "ended")
        self.assertFalse((again.directory / "http.json").exists())

    def test_nowhere_where_it_is_off_and_viewers_change_no_bit(self):
        job = "training.kimg=80"
        code, out, err = self.call(GANGWAY, "run", RING, "-n", 1, "--run", "alone", "output.http=off", job)
        self.assertEqual(code, 0, out + err)
        self.assertNotIn("page ", out)
        page = self.train_and_look(run="seen", job=job)
        viewers = [Events(page) for _ in range(20)]
        while page.running.process.poll() is None:
            try:
                page.get("/api/run.json")
                page.get("/metrics")
            except OSError:
                break  # it has ended
        self.assertEqual(page.running.end(), 0, page.running.said())
        for viewer in viewers:
            self.assertTrue(any(kind == "tick" for _, _, kind, _ in viewer.messages))
            viewer.close()
        self.assertEqual(self.digest("runs/00000-alone"), self.digest("runs/00001-seen"))


if __name__ == "__main__":
    unittest.main()
