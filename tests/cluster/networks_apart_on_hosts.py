#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks apart on a played cluster: the digest of one host, and images on the link in the place of gradients.

    GANGWAY_BIN=build/release/bin networks_apart_on_hosts.py [unittest arguments]
"""
import json

from hosts import main
from train_on_hosts import HOSTFILE, OnHosts
from train_command import EXAMPLES, GANGWAY

NET = EXAMPLES / "infogan.yaml"
SHORT = ["training.kimg=0.256", "training.batch=64", "output.pictures_kimg=0", "output.tick_kimg=0.064"]
APART = ["layout.generator='[0]'", "layout.discriminator='[1]'"]


class Apart(OnHosts):
    def sent_mib(self, run):
        path = next((self.folder / "runs").glob(f"*-{run}")) / "stats.jsonl"
        return json.loads(path.read_text().splitlines()[-1])["sent_mib_per_step"]

    def test_has_the_digest_of_one_host_and_sends_images_alone(self):
        self.train(NET, *SHORT, run="one", workers=1)
        for run, layout in (("together", []), ("apart", APART)):
            code, out, err = self.call_inside("2", " ".join([
                GANGWAY, "run", str(NET), "-n", "2", "--hostfile", HOSTFILE, "--run", run, *SHORT, *layout]))
            self.assertEqual(code, 0, out + err)
            self.assertEqual(self.digest(run), self.digest("one"))
        self.assertLess(self.sent_mib("apart"), self.sent_mib("together") / 10)

    def test_has_it_where_activations_go_before_gradients(self):
        short = [*SHORT, "training.kimg=0.192", "training.microbatches=4"]
        self.train(NET, *short, run="one", workers=1)
        code, out, err = self.call_inside("4", " ".join([
            GANGWAY, "run", str(NET), "-n", "4", "--hostfile", HOSTFILE, "--run", "stages", "--verbose", *short,
            "layout.stages=2"]))
        self.assertEqual(code, 0, out + err)
        self.assertIn("--mca btl_tcp_sndbuf ", out)
        self.assertEqual(self.digest("stages"), self.digest("one"))


if __name__ == "__main__":
    main()
