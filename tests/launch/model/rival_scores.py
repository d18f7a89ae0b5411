# SPDX-License-Identifier: MIT
"""Compares FD, KID, precision and recall with pytorch-fid, torch-fidelity and clean-fid, for a network with random weights.

    rival_scores.py build/release/tests/score_sample [unittest arguments]

pip installs their code into a temporary folder; the test downloads no published weights.
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy
import torch

SAMPLE = sys.argv.pop(1)
RIVALS = ("pytorch-fid==0.3.0", "torch-fidelity==0.4.0", "clean-fid==0.1.35", "torchvision==0.26.0", "scipy", "requests", "tqdm",
          "charset-normalizer", "idna", "urllib3", "certifi")
PICTURES, SIDE, DIMS = 200, 48, 64


class Trunk(torch.nn.Module):
    """Has the form of pytorch-fid's Inception: levels in, features out."""

    def __init__(self, inception):
        super().__init__()
        self.blocks = torch.nn.ModuleList(inception.blocks)

    def forward(self, images):
        x = 2 * (images.float() / 255) - 1
        for block in self.blocks:
            x = block(x)
        return torch.nn.functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1)


def pictures(seed, drift):
    """Returns colourful blobs, uint8 [N, S, S, 3]."""
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:SIDE, 0:SIDE] / SIDE
    sets = []
    for _ in range(PICTURES):
        centre, colour = random.random(2) * 0.6 + 0.2 + drift, random.random(3)
        blob = numpy.exp(-((y - centre[0]) ** 2 + (x - centre[1]) ** 2) / 0.02)
        noise = random.normal(0, 0.05, (SIDE, SIDE, 3))
        sets.append((blob[..., None] * colour + noise + random.normal(0.2 + drift, 0.03)).clip(0, 1) * 255)
    return numpy.stack(sets).astype(numpy.uint8)


class RivalScores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", cls.folder / "rivals", *RIVALS],
                       check=True, timeout=600)
        sys.path.insert(0, str(cls.folder / "rivals"))
        import torchvision
        from pytorch_fid import inception
        torch.manual_seed(1)
        inception._inception_v3 = lambda weights: torchvision.models.inception_v3(weights=None, init_weights=True)
        cls.rival = inception.InceptionV3([inception.InceptionV3.BLOCK_INDEX_BY_DIM[DIMS]], use_fid_inception=False).eval()
        cls.sets = {"real": pictures(1, 0.0), "generated": pictures(2, 0.03)}
        with torch.no_grad():
            trunk = torch.jit.trace(Trunk(cls.rival).eval(), torch.zeros(2, 3, 299, 299))
        trunk.save(cls.folder / "net.pt")
        for name, images in cls.sets.items():
            numpy.save(cls.folder / f"{name}.npy", images.transpose(0, 3, 1, 2).reshape(PICTURES, -1).astype(numpy.float32))

    def ours(self, resize):
        said = subprocess.run([SAMPLE, self.folder / "net.pt", resize, self.folder / "real.npy", self.folder / "generated.npy"],
                              check=True, capture_output=True, text=True, timeout=600).stdout.split()
        self.assertEqual(said[0], f"FD-net.pt-{resize}")
        return [float(word) for word in said[1:]]

    def compare(self, resize, features):
        from pytorch_fid.fid_score import calculate_frechet_distance
        from torch_fidelity.metric_kid import kid_features_to_metric
        from torch_fidelity.metric_prc import prc_features_to_metric
        real, generated = features
        fd = calculate_frechet_distance(generated.mean(0), numpy.cov(generated, rowvar=False),
                                        real.mean(0), numpy.cov(real, rowvar=False))
        tensors = [torch.tensor(one) for one in (generated, real)]
        kid = kid_features_to_metric(*tensors, kid_subsets=1, kid_subset_size=PICTURES, verbose=False)
        prc = prc_features_to_metric(*tensors, verbose=False)
        theirs = [fd, kid["kernel_inception_distance_mean"], prc["precision"], prc["recall"]]
        ours = self.ours(resize)
        print(f"{resize:9} FD {ours[0]:.6g} and {theirs[0]:.6g}, KID {ours[1]:.6g} and {theirs[1]:.6g}, "
              f"precision {ours[2]:.4f} and {theirs[2]:.4f}, recall {ours[3]:.4f} and {theirs[3]:.4f}")
        for mine, other in zip(ours, theirs):
            self.assertLessEqual(abs(mine - other), 1e-3 * abs(other), (ours, theirs))

    def test_as_pytorch_fid_resizes(self):
        from PIL import Image
        from pytorch_fid.fid_score import get_activations
        features = []
        for name, images in self.sets.items():
            files = []
            for i, image in enumerate(images):
                files.append(self.folder / f"{name}-{i:04}.png")
                Image.fromarray(image).save(files[-1])
            features.append(get_activations(files, self.rival, dims=DIMS, num_workers=0))
        self.compare("bilinear", features)

    def test_as_clean_fid_resizes(self):
        from cleanfid.resize import build_resizer
        resize = build_resizer("clean")
        trunk = torch.jit.load(self.folder / "net.pt")
        features = []
        for images in self.sets.values():
            large = numpy.stack([resize(image) for image in images]).transpose(0, 3, 1, 2)
            with torch.no_grad():
                features.append(torch.cat([trunk(batch) for batch in torch.tensor(large).split(50)]).numpy().astype(float))
        self.compare("clean", features)


if __name__ == "__main__":
    unittest.main()
