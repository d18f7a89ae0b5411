#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the advice and templates of `gangway init`. tests/launch has init_job.py and manifests.py.

    GANGWAY_BIN=build/release/bin init_test.py [unittest arguments]
"""
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
import gangway  # noqa: E402
from gangway import Failed, job_file  # noqa: E402
from gangway.launch import program  # noqa: E402
from gangway.tools.init import job, manifests  # noqa: E402
from gangway.tools.init.templates import filled  # noqa: E402
from gangway.tools.measured import prepared  # noqa: E402

os.environ["GANGWAY_BIN"] = os.path.abspath(os.environ["GANGWAY_BIN"])
KEPT = Path(__file__).parent / "init"
TEMPLATES = ROOT / "share/python/gangway/tools/init/templates"
RING, CLOTHES = ROOT / "examples/ring8.yaml", ROOT / "examples/fashion-mnist.yaml"
PHOTOS = job.Facts('/data/my photos: "best".zip', 5000, 200, False, [])
HALF_AN_HOUR = job.Wishes(30.0, None, 1, False)


def own_lines(text, template, job_text=""):
    """Returns the lines that come neither from the template nor from the job."""
    known = {*(TEMPLATES / f"{template}.in").read_text().split("\n"), *(f"    {line}" for line in job_text.split("\n"))}
    for path, name in ((os.path.dirname(program()), "BIN"), (str(ROOT), "ROOT"), (os.getcwd(), "FOLDER")):
        text = text.replace(path, name)
    return "".join(f"{line}\n" for line in text.split("\n") if line not in known)


class Golden(unittest.TestCase):
    """Compares line by line with the output of the C++ command of release 0.1."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_scripts_and_containers(self):
        for kind, template in (("slurm", "slurm.sbatch"), ("docker", "container")):
            text = gangway.manifest(kind, RING, ["numerics.device=cuda", "training.microbatches=16"], nodes=2, gpus_per_node=8, time="2-12",
                                    grace=90, file="-").text
            self.assertEqual(own_lines(text, template), (KEPT / f"{kind}.txt").read_text())

    def test_kubernetes(self):
        keys = ["data.source=images:/data/faces.zip", "model.channels=1", "model.classes=0"]
        text = gangway.manifest("k8s", CLOTHES, keys, file="-").text
        self.assertEqual(own_lines(text, "kubernetes.yaml", CLOTHES.read_text()), (KEPT / "k8s.txt").read_text())

    def test_jobs(self):
        facts, wishes = job.Facts("FOLDER/labels", 240, 55, False, [120, 120]), job.Wishes(30.0, None, 2, False)
        text = job.job_text(job.advise(facts, wishes), facts, wishes, "job.yaml", "")
        self.assertEqual(own_lines(text, "job.yaml"), (KEPT / "job.txt").read_text())


class Templates(unittest.TestCase):
    def test_lose_lines_of_empty_values_and_keep_indentation(self):
        with mock.patch.object(Path, "read_text", return_value="a@@N@ @\nb @X@\n  @X@\n  @TEXT@\n"):
            self.assertEqual(filled("", N="1", X="", TEXT="\np\n\n  q @N@\n"), "a@1 @\n  p\n\n    q @N@\n")


class Advice(unittest.TestCase):
    def resolved(self, advice, facts, wishes=HALF_AN_HOUR):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(job.job_text(advice, facts, wishes, "photos.yaml", "gangway init job"))
            file.flush()
            return prepared(file.name)["job"]

    def test_is_a_job(self):
        wishes = HALF_AN_HOUR._replace(workers=3)
        advice = job.advise(PHOTOS, wishes)
        job.set_length(advice, wishes, 400.0)
        found = self.resolved(advice, PHOTOS, wishes)
        self.assertEqual(found["data"]["source"], f"images:{PHOTOS.source}")
        self.assertEqual([found["model"][key] for key in ("resolution", "channels", "classes")], [64, 3, 0])
        self.assertEqual([found["training"][key] for key in ("microbatches", "kimg")], [4, 610])
        self.assertEqual(found["training"]["augment"]["policy"], "ada")

    def test_follows_what_the_pictures_are(self):
        facts = PHOTOS._replace(is_gray=True, side=28, pictures=60_000, by_label=[6000] * 10)
        found = self.resolved(job.advise(facts, HALF_AN_HOUR), facts)
        self.assertEqual([found["model"][key] for key in ("resolution", "channels", "classes")], [32, 1, 10])
        self.assertEqual(found["training"]["augment"]["policy"], "none")

    def test_leaves_labels_out_that_have_too_few_pictures(self):
        for by_label in ([4990, 10], [49] * 101):
            advice = job.advise(PHOTOS._replace(by_label=by_label), HALF_AN_HOUR)
            self.assertEqual(advice.classes, 0)
            note, = advice.notes
            self.assertIn(f"the smallest has {min(by_label)} pictures", note)

    def test_takes_the_width_that_the_time_allows(self):
        advice = job.advise(PHOTOS, HALF_AN_HOUR)
        self.assertEqual([job.other_width(advice, HALF_AN_HOUR, rate, 10.0) for rate in (400, 5000, 20)], [None, 64, 16])
        self.assertEqual([job.other_width(advice, HALF_AN_HOUR._replace(minutes=1.0), 20, took) for took in (14, 16)], [16, None])

    def test_tells_how_long_it_would_take_where_the_time_is_short(self):
        wishes = HALF_AN_HOUR._replace(minutes=1.0)
        advice = job.advise(PHOTOS, wishes)
        self.assertEqual(advice.notes, [])
        job.set_length(advice, wishes, 100.0)
        self.assertEqual(f"{advice.kimg:g}", "5.1")
        self.assertEqual(advice.trial, "A trial here: 100 pictures a second with 1 worker and width 32; some 5.1 thousand in 1 minute.")
        self.assertEqual(advice.notes, ["little can be seen of 64 pixels after 1 minute here: shapes appear after about 20 minutes, or "
                                        "sooner with --resolution 32"])

    def test_calls_its_length_a_guess_without_a_trial(self):
        wishes = job.Wishes(1.0, 32, 1, False)
        self.assertEqual(job.guess_note(job.advise(PHOTOS, wishes), wishes),
                         "training.kimg=160 is a guess, for no trial was made: on two quiet cores it takes about 4 minutes, whatever "
                         "--minutes says (1); without --no-trial it follows from --minutes")

    def test_refuses_what_it_has_no_advice_for(self):
        for wishes, says in ((HALF_AN_HOUR._replace(resolution=256), "--recipe r3gan-ffhq256"),
                             (HALF_AN_HOUR._replace(workers=65), "--workers 65")):
            with self.assertRaisesRegex(Failed, says):
                job.advise(PHOTOS, wishes)

    def test_published_recipes_take_ones_own_pictures(self):
        files = sorted((ROOT / "examples/published").glob("*.yaml"))
        self.assertEqual(len(files), 17)
        for file in files:
            text = job.with_source(file.read_text("utf-8"), "/data/a b.zip")
            form = job_file.parse(file.read_text(), "")["data"]["source"].removesuffix("PATH")
            self.assertEqual(job_file.parse(text, "")["data"]["source"], f"{form}/data/a b.zip")
            self.assertEqual(text.replace(f'"{form}/data/a b.zip"', f"{form}PATH"), file.read_text())


class Manifests(unittest.TestCase):
    def text(self, kind, *keys, **options):
        options = {"workers": 4, "nodes": 2, "name": "Ring_8.b", **options}
        return gangway.manifest(kind, RING, ["training.microbatches=8", *keys], **options).text

    def test_slurm_has_room_for_the_coordinator_on_each_node(self):
        text = self.text("slurm", workers=5)
        self.assertIn("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n", text)
        self.assertIn(f"\n{program()} run {RING} training.microbatches=8 --run Ring_8.b -n 5 --resume auto --outdir ", text)
        for left_out in ("--gpus", "#SBATCH --time"):
            self.assertNotIn(left_out, text)

    def test_kubernetes_tells_which_volume_the_pictures_need(self):
        self.assertNotIn("TODO", self.text("k8s"))
        facades = gangway.manifest("k8s", ROOT / "examples/published/pix2pix-facades.yaml", ["data.source=pairs:photos"]).text
        self.assertIn(f"a volume with a copy of {os.getcwd()}/photos: all pods read it.\n", facades)
        self.assertIn("--outdir /runs data.source=pairs:/data &\n", facades)

    def test_kubernetes_keeps_room_for_checkpoints_of_networks_that_are_cut(self):
        self.assertIn("storage: 5Gi", self.text("k8s", "layout.stages=2"))

    def test_kubernetes_probes_the_page_where_there_is_one(self):
        for said, place, key in (("auto", "127.0.0.1/8080", "output.http=127.0.0.1:8080 "), ("9000", "127.0.0.1/9000", ""),
                                 ("'[::]'", "127.0.0.1/8080", "'output.http=[::]:8080' "), ("0.0.0.0:9000", "127.0.0.1/9000", ""),
                                 ("10.0.0.7", "10.0.0.7/8080", "output.http=10.0.0.7:8080 "), ("localhost:81", "127.0.0.1/81", ""),
                                 ("'[::1]:81'", "::1/81", "")):
            with self.subTest(said=said):
                text = self.text("k8s", f"output.http={said}", "output.http_plain=true")
                self.assertEqual(text.count(f"/dev/tcp/{place} "), 3)
                self.assertIn(f"gangway run /job/job.yaml {key}training.microbatches=8 ", text)
        self.assertNotIn("livenessProbe", self.text("k8s", "output.http=off"))

    def test_refuse_nodes_that_would_idle_and_gpus_that_would_be_shared(self):
        for options, says in (({"nodes": 5}, "--nodes 5: 4 workers would leave some without work; use --nodes 4 or -n 5"),
                              ({"gpus_per_node": 1}, "4 workers on 2 nodes need 2 each; use -n 2 or --nodes 4"),
                              ({"workers": 9}, "9 workers cannot share training.microbatches 8"), ({"name": ".a"}, "run name '.a': ")):
            with self.subTest(says=says), self.assertRaisesRegex(Failed, says):
                self.text("docker", **options)

    def test_name_things_as_kubernetes_does(self):
        for run, name in (("Fashion_MNIST..2-", "fashion-mnist-2"), ("8gaussians", "gangway-8gaussians"), ("___", "gangway-job"),
                          ("x" * 64, "x" * 40), ("a" * 39 + "_b", "a" * 39)):
            self.assertEqual(manifests.kubernetes_name(run), name)

    def test_take_times_as_sbatch_does(self):
        for text, seconds in (("90", 5400), ("1:30", 90), ("12:00:00", 43_200), ("2-12", 216_000), ("1-00:01", 86_460), ("0-0:0:1", 1)):
            self.assertEqual(manifests.seconds_of(text), seconds)
        self.assertEqual(manifests.slurm_time(manifests.seconds_of("1-02:03:04")), "1-02:03:04")
        for text in ("", "0", "-1", "+1", "1h", "1:2:3:4", "1-2-3", "1:2-3", "1-2:3:4:5", "1-", "1::2", " 5", "1234567"):
            with self.subTest(text=text), self.assertRaises(Failed):
                manifests.seconds_of(text)


if __name__ == "__main__":
    unittest.main()
