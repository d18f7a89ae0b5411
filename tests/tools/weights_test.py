#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway import`: files as the other programs write them, made here without their code; bad files; the run.

    GANGWAY_BIN=build/release/bin weights_test.py [unittest arguments]
"""
import contextlib
import importlib.util
import io
import math
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import time
import types
import unittest
import warnings
from pathlib import Path

import numpy
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "share/python"), str(ROOT / "tests/gan")]
from gangway import Failed, open as open_run  # noqa: E402
from gangway.tools import engine, weights  # noqa: E402
from gangway.tools.weights import stylegan2  # noqa: E402
from gangway.tools.weights.files import role_of, sources_of  # noqa: E402
from gangway.tools.weights.source import Source  # noqa: E402
from stylegan2_reference import activated, doubled, interpolated, modulated, unit  # noqa: E402

LATENT, WIDTH, SIDE = 8, 4, 32


def foreign(module: str, name: str, **members):
    """Returns a class that a pickle names as MODULE.NAME."""
    made = type(name, (), {"__module__": module, **members})
    for package in (module.partition(".")[0], module):
        sys.modules.setdefault(package, types.ModuleType(package))
    setattr(sys.modules[module], name, made)
    return made


def reconstruct(meta):
    raise AssertionError("code of a file ran")


reconstruct.__module__, reconstruct.__qualname__, reconstruct.__name__ = "torch_utils.persistence", *["_reconstruct_persistent_obj"] * 2
foreign("torch_utils.persistence", "unused")
sys.modules["torch_utils.persistence"]._reconstruct_persistent_obj = reconstruct


class Persistent:
    """Pickles a module as NVIDIA's torch_utils.persistence does: the text of its code beside its attributes."""

    def __init__(self, tensors: dict, settings: dict = {}, name: str = ""):
        own = {key: value for key, value in tensors.items() if "." not in key}
        heads = dict.fromkeys(key.partition(".")[0] for key in tensors if "." in key)
        self.state = {"training": False, **settings.get(name, {}), "_buffers": {}, "_parameters": own, "_modules": {
            head: Persistent({key.partition(".")[2]: value for key, value in tensors.items() if key.startswith(f"{head}.")}, settings,
                             f"{name}.{head}".lstrip(".")) for head in heads}}

    def __reduce__(self):
        return reconstruct, ({"type": "class", "version": 6, "module_src": "raise SystemExit", "class_name": "Net", "state": self.state},)


def channels(side: int) -> int:
    return min(WIDTH * SIDE // side, 512)


def stylegan2_generator() -> dict:
    shapes = {f"mapping.fc{layer}": (LATENT, LATENT) for layer in range(2)}
    tensors = {"mapping.w_avg": torch.zeros(LATENT), "synthesis.b4.const": torch.randn(channels(4), 4, 4)}
    for side in (4, 8, 16, 32):
        for layer in ("conv0", "conv1", "torgb")[side == 4:]:
            inputs = channels(side // 2 if layer == "conv0" else side)
            outputs, kernel = (3, 1) if layer == "torgb" else (channels(side), 3)
            place = f"synthesis.b{side}.{layer}"
            shapes |= {place: (outputs, inputs, kernel, kernel), f"{place}.affine": (inputs, LATENT)}
            if layer != "torgb":
                tensors |= {f"{place}.noise_strength": torch.tensor(0.0), f"{place}.noise_const": torch.randn(side, side)}
        tensors[f"synthesis.b{side}.resample_filter"] = torch.outer(torch.tensor([1.0, 3, 3, 1]), torch.tensor([1.0, 3, 3, 1])) / 64
    for place, shape in shapes.items():
        tensors |= {f"{place}.weight": torch.randn(shape), f"{place}.bias": torch.randn(shape[0])}
    return tensors


def stylegan2_pictures(tensors: dict, noise: torch.Tensor) -> torch.Tensor:
    """Returns what the authors' generator makes with noise_mode='const', in float64."""
    t, x, picture = {name: values.double() for name, values in tensors.items()}, None, None

    def dense(x, name, rate=1.0):
        return F.linear(x, t[f"{name}.weight"] * rate / math.sqrt(LATENT), t[f"{name}.bias"] * rate)

    style = unit(noise.double())
    for layer in range(2):
        style = activated(dense(style, f"mapping.fc{layer}", 0.01))
    x = t["synthesis.b4.const"].expand(len(noise), -1, -1, -1)
    for side in (4, 8, 16, 32):
        for layer in ("conv0", "conv1")[side == 4:]:
            place = f"synthesis.b{side}.{layer}"
            x = modulated(x, t[f"{place}.weight"], dense(style, f"{place}.affine"), True, 2 if layer == "conv0" else 1)
            x = interpolated(x, 1, 1, 4.0) if layer == "conv0" else x
            x = activated(x + t[f"{place}.noise_const"] * t[f"{place}.noise_strength"] + t[f"{place}.bias"][:, None, None])
        place = f"synthesis.b{side}.torgb"
        factors = dense(style, f"{place}.affine") / math.sqrt(channels(side))
        y = modulated(x, t[f"{place}.weight"], factors, False) + t[f"{place}.bias"][:, None, None]
        picture = y if picture is None else doubled(picture) + y
    return picture


def stylegan2_discriminator() -> dict:
    shapes = {"b32.fromrgb": (WIDTH, 3, 1, 1), "b4.conv": (channels(4), channels(4) + 1, 3, 3), "b4.fc": (channels(4), 16 * channels(4)),
              "b4.out": (1, channels(4))}
    tensors = {}
    for side in (32, 16, 8):
        shapes |= {f"b{side}.conv0": (channels(side), channels(side), 3, 3), f"b{side}.conv1": (channels(side // 2), channels(side), 3, 3)}
        tensors[f"b{side}.skip.weight"] = torch.randn(channels(side // 2), channels(side), 1, 1)
    for place, shape in shapes.items():
        tensors |= {f"{place}.weight": torch.randn(shape), f"{place}.bias": torch.randn(shape[0])}
    return tensors


def residual_generator(width: int = 4, blocks: int = 6) -> nn.Module:
    """Makes CycleGAN's, under its names."""
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            halves = [[nn.ReflectionPad2d(1), nn.Conv2d(4 * width, 4 * width, 3), nn.InstanceNorm2d(4 * width)] for _ in range(2)]
            self.conv_block = nn.Sequential(*halves[0], nn.ReLU(), *halves[1])

        def forward(self, x):
            return x + self.conv_block(x)

    layers = [nn.ReflectionPad2d(3), nn.Conv2d(3, width, 7), nn.InstanceNorm2d(width), nn.ReLU()]
    for inputs in (width, 2 * width):
        layers += [nn.Conv2d(inputs, 2 * inputs, 3, 2, 1), nn.InstanceNorm2d(2 * inputs), nn.ReLU()]
    layers += [Residual() for _ in range(blocks)]
    for outputs in (2 * width, width):
        layers += [nn.ConvTranspose2d(2 * outputs, outputs, 3, 2, 1, 1), nn.InstanceNorm2d(outputs), nn.ReLU()]
    network = nn.Module()
    network.model = nn.Sequential(*layers, nn.ReflectionPad2d(3), nn.Conv2d(width, 3, 7), nn.Tanh())
    return network


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil",)


class Imports(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        scratch = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def pickled(self, content, name="network.pkl") -> Path:
        file = self.folder / name
        file.write_bytes(pickle.dumps(content))
        return file

    def saved(self, content, name="latest_net_G_A.pth") -> Path:
        torch.save(content, self.folder / name)
        return self.folder / name

    def imported(self, *words) -> tuple[Path, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            weights.command([*map(str, words), "-o", "run"])
        return self.folder / "run", said.getvalue()

    def refusal(self, *words, code=5) -> str:
        before = set(self.folder.iterdir())
        with self.assertRaises(Failed) as caught:
            self.imported(*words)
        self.assertEqual(set(self.folder.iterdir()), before, "something was left behind")
        self.assertNotIn("\n", caught.exception.line)
        self.assertEqual(caught.exception.code, code, caught.exception.line)
        return caught.exception.line

    def test_stylegan2_ada_gives_both_networks_and_the_average(self):
        generator, average, discriminator = stylegan2_generator(), stylegan2_generator(), stylegan2_discriminator()
        settings = {"mapping.fc1": {"bias_gain": 0.02}, "b32.conv0": {"conv_clamp": 256}}
        file = self.pickled({"G": Persistent(generator, settings), "D": Persistent(discriminator, settings), "G_ema": Persistent(average),
                             "training_set_kwargs": {"path": "faces.zip"}, "augment_pipe": Persistent({"p": torch.zeros(())})})
        run, said = self.imported(file, "training.batch=8")
        self.assertIn("not clamped at 256", said)
        run = open_run(run)
        job, checkpoint = run.job, run.checkpoint()
        self.assertEqual((job["model"]["width"], job["model"]["resolution"], job["model"]["mapping_layers"], job["training"]["batch"]),
                         (WIDTH, SIDE, 2, 8))
        self.assertEqual((job["generator"]["ema_rampup"], checkpoint.step), ("none", 0))
        for ours, theirs in (("generator/0/layer1.weight", 2 * generator["mapping.fc1.weight"]),
                             ("generator/2/factors.bias", generator["synthesis.b4.conv1.affine.bias"]),
                             ("generator/4/weight", generator["synthesis.b8.conv0.weight"]),
                             ("generator_ema/12/weight", average["synthesis.b32.torgb.weight"]),
                             ("discriminator/1/skip.weight", discriminator["b32.skip.weight"]),
                             ("discriminator/4/head.bias", discriminator["b4.out.bias"])):
            torch.testing.assert_close(checkpoint.tensor(ours), theirs, rtol=1e-6, atol=0, msg=ours)
        self.assertEqual(int(checkpoint.tensor("generator_optimizer/updates")), 0)
        self.assertIn("discriminator/4/augment.strength", checkpoint.names)

    def test_stylegan2_makes_the_pictures_of_its_constant_noise(self):
        tensors = {name: values + name.endswith("noise_strength") for name, values in stylegan2_generator().items()}
        save_file(tensors, "G_ema.safetensors")
        run, _ = self.imported("G_ema.safetensors")
        for program, *words in (("gangway-model", "inputs", run, "--seeds", "0-2", "-o", "in.safetensors"),
                                ("gangway-model", "time", run, "--inputs", "in.safetensors", "--made", "made.safetensors"),
                                ("gangway", "checkpoints", "export", run, "-o", "g.onnx")):
            subprocess.run([Path(os.environ["GANGWAY_BIN"]) / program, *words], check=True, stdout=subprocess.DEVNULL)
        noise = load_file("in.safetensors")["noise"]
        wanted = stylegan2_pictures(tensors, noise)
        other = stylegan2_pictures({name: values * (not name.endswith("noise_const")) for name, values in tensors.items()}, noise)
        self.assertGreater((wanted - other).abs().mean(), 0.1 * wanted.abs().mean())
        made = [load_file("made.safetensors")["output"]]
        if importlib.util.find_spec("onnxruntime"):
            made.append(torch.from_numpy(engine.onnxruntime("g.onnx", 1, "fp32")[0]({"noise": noise.numpy()})))
        for pictures in made:
            torch.testing.assert_close(pictures, wanted.float(), rtol=0, atol=1e-5 * float(wanted.abs().max()))

    def test_noise_of_tensorflow_goes_to_the_layers_of_its_size(self):
        places = ["b4.conv1", "b8.conv0", "b8.conv1", "b16.conv0", "b16.conv1"]  # in TensorFlow numbered in this order
        shapes = [(1, 1, side, side) for side in (4, 8, 8, 16, 16)]
        variables = [(f"synthesis/noise{layer}", numpy.full(shape, layer)) for layer, shape in enumerate(shapes)]
        found = stylegan2.of_tensorflow(Source("G", {}, {"variables": variables}, [], "G.pkl")).tensors
        self.assertEqual({name: (int(values.max()), values.shape) for name, values in found.items()},
                         {f"synthesis.{place}.noise_const": (layer, shapes[layer]) for layer, place in enumerate(places)})

    def test_cyclegan_gives_both_directions(self):
        networks = [residual_generator() for _ in range(2)]
        run, _ = self.imported(self.saved(networks[0].state_dict()), self.saved(networks[1].state_dict(), "latest_net_G_B.pth"),
                               "model.resolution=32")
        checkpoint = open_run(run).checkpoint()
        for network, name in zip(networks, ("generator_ab", "generator_ba")):
            for ours, theirs in (("0/weight", "1.weight"), ("2/bias", "7.bias"), ("3/first.weight", "10.conv_block.1.weight"),
                                 ("8/second.bias", "15.conv_block.5.bias"), ("9/weight", "16.weight"), ("11/bias", "23.bias")):
                self.assertTrue(torch.equal(checkpoint.tensor(f"{name}/{ours}"), network.state_dict()[f"model.{theirs}"]), ours)
        program = Path(os.environ["GANGWAY_BIN"]) / "gangway"
        subprocess.run([program, "checkpoints", "verify", run], check=True, stdout=subprocess.DEVNULL)
        self.assertLess({"image_pools/0/fake_b", "image_pools_optimizer/updates"}, set(checkpoint.names))

    @unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "needs ./launch/setup deploy")
    def test_cyclegan_translates_as_its_own_modules_do(self):
        network = residual_generator()
        run, _ = self.imported(self.saved(network.state_dict()), "model.resolution=32")
        program = Path(os.environ["GANGWAY_BIN"]) / "gangway"
        subprocess.run([program, "checkpoints", "export", run, "--network", "generator_ab", "-o", "g.onnx"], check=True,
                       stdout=subprocess.DEVNULL)
        pictures = torch.rand(2, 3, 32, 32) * 2 - 1
        made = engine.onnxruntime("g.onnx", 1, "fp32")[0]({"image": pictures.numpy()})
        with torch.no_grad():
            torch.testing.assert_close(torch.from_numpy(made), network.model(pictures), rtol=0, atol=1e-5)

    def test_an_average_alone_stands_for_the_weights(self):
        save_file(stylegan2_generator(), "G_ema.safetensors")
        checkpoint = open_run(self.imported("G_ema.safetensors")[0]).checkpoint()
        for name in ("1/constant", "2/weight"):
            self.assertTrue(torch.equal(checkpoint.tensor(f"generator/{name}"), checkpoint.tensor(f"generator_ema/{name}")))
        self.assertGreater(float(checkpoint.tensor("discriminator/0/weight").std()), 0)  # an initial value

    def test_one_file_may_have_networks_under_prefixes(self):
        save_file({f"{role}.{name}": values for role, tensors in (("G_ema", stylegan2_generator()), ("D", stylegan2_discriminator()))
                   for name, values in tensors.items()}, "all.safetensors")
        self.assertEqual([source.role for source in sources_of(Path("all.safetensors"))], ["D", "G_ema"])

    def test_roles_follow_from_names(self):
        self.assertEqual([role_of(name) for name in ("latest_net_G_A.pth", "G_ema_best0.pth", "D_optim.pth", "G_opt_state", "generator_ema",
                                                     "horse2zebra.pth", "Good.pth")], ["G_A", "G_ema", "D_optim", "G_optim", "G_ema", "", ""])

    def test_bad_files_get_one_line_and_leave_nothing(self):
        generator = stylegan2_generator()
        whole = pickle.dumps({"G_ema": Persistent(generator)})
        zip_file = self.saved({"G": Evil()}, "evil.pt").read_bytes()
        texts = {
            "empty.pkl": (b"", "is empty"), "cut.pkl": (whole[:len(whole) // 2], "is damaged"), "text.pkl": (b"weights", "is no pickle"),
            "evil.pkl": (pickle.dumps({"G": Evil()}), "names posix.system"), "evil.pt": (zip_file, "names posix.system"),
            "builtin.pkl": (b"\x80\x02cbuiltins\neval\nX\x01\0\0\0x\x85R.", "names builtins.eval"),
            "dots.pkl": (b"\x80\x04\x8c\x09torch.nn.\x8c\x04load\x93.", "names torch.nn..load"),
            "cut.pt": (zip_file[:200], "is damaged"), "number.pkl": (pickle.dumps(3), "has no networks"),
            "huge.safetensors": (struct.pack("<Q", 1 << 39) + b"{}", "is damaged"),
            "beyond.safetensors": (struct.pack("<Q", 2) + b"{}"[:1], "is damaged"),
            "hole.safetensors": (struct.pack("<Q", 60) + b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}     ', "is damaged")}
        for name, (content, text) in texts.items():
            with self.subTest(name):
                Path(name).write_bytes(content)
                self.assertIn(text, self.refusal(name))
        os.mkfifo("pipe.pkl")
        for name in ("pipe.pkl", "/dev/zero", "."):
            self.assertIn("is no regular file", self.refusal(name))
        self.assertFalse(Path("evil").exists())

    def test_the_length_of_a_header_is_taken_for_no_pickle(self):
        file, length = Path("G_ema.safetensors"), 0
        while length == 0 or file.read_bytes()[0] != 0x80:  # as a pickle begins
            length += 1
            save_file({"weight": torch.zeros(1)}, file, {"note": "-" * length})
        self.assertEqual([source.role for source in sources_of(file)], ["G_ema"])

    def test_files_of_other_pickle_protocols_cost_no_warning_and_no_advice_to_run_code(self):
        with warnings.catch_warnings(action="error"):
            torch.save({"weight": torch.zeros(1)}, "G.pth", pickle_protocol=3)
            self.assertEqual([source.role for source in sources_of(Path("G.pth"))], ["G"])
        torch.save({"weight": torch.zeros(1)}, "G.pth", pickle_protocol=5)
        self.assertRegex(self.refusal("G.pth"), "G.pth: is damaged, or of another program: Unsupported [^.]+$")

    def test_a_few_bytes_stand_for_no_large_network(self):
        few = torch.zeros(1).expand(1 << 20, 1 << 10)
        self.assertIn("larger than its storage", self.refusal(self.pickled({"G": Persistent({"synthesis.b4.const": few})})))
        tensors = {**stylegan2_generator(), "synthesis.b4.const": few}
        self.assertIn("fewer values than its tensor 'synthesis.b4.const' has", self.refusal(self.saved({"G": tensors}, "network.pt")))
        parts = module = Persistent({})
        for _ in range(60):
            parts, inner, module = {"a": parts, "b": parts}, module, Persistent({})
            module.state = {"_modules": {"a": inner, "b": inner}}
        for content, text in ((parts, "more than 100000 parts"), ({"G": module}, "more than 100000 modules")):
            self.assertIn(text, self.refusal(self.pickled(content)))
        layers = {"variables": [], "static_kwargs": {"mapping_layers": 1 << 20}}
        self.assertLess(len(stylegan2.of_tensorflow(Source("G", {}, layers, [], "G.pkl")).settings), 9)

    def test_a_full_disk_costs_one_line(self):
        file = self.saved(residual_generator().state_dict())
        limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))"
        code = f"{limit}; import runpy, sys; sys.argv = ['tools', 'import', {str(file)!r}, '-o', 'run']; runpy.run_module('gangway.tools', run_name='__main__')"
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT / "share/python")}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (6, "gangway: run: cannot be written: File too large; choose another place\n"))
        self.assertEqual(set(self.folder.iterdir()), {file})

    def test_other_networks_are_refused_by_what_differs(self):
        generator, discriminator = stylegan2_generator(), stylegan2_discriminator()
        wide = {name: values[:, :2] if name == "b32.fromrgb.weight" else values for name, values in discriminator.items()}
        cases = {
            "has a value in 'synthesis.b8.conv0.bias' that is not finite": {**generator, "synthesis.b8.conv0.bias": torch.full((16,), math.nan)},
            "styles of 8": {**generator, "mapping.fc0.weight": torch.randn(LATENT, 6)},
            "has tensor 'synthesis.b8.skip.weight'": {**generator, "synthesis.b8.skip.weight": torch.zeros(1)},
            "has no tensor 'synthesis.b4.conv1.noise_strength'": {name: values for name, values in generator.items()
                                                                  if name != "synthesis.b4.conv1.noise_strength"},
            "another filter": {**generator, "synthesis.b8.resample_filter": torch.ones(2, 2)},
            "channels at 4 pixels": {**generator, "synthesis.b4.conv1.weight": torch.zeros(9, 9, 3, 3)},
            "none of StyleGAN2": {"fc.weight": torch.zeros(2, 2)}, "BatchNorm": {**residual_generator().state_dict(), "model.2.weight": torch.ones(4)}}
        for text, tensors in cases.items():
            with self.subTest(text):
                self.assertIn(text, self.refusal(self.saved(tensors, "network.pt")))
        both = {"G": generator, "D": wide}
        self.assertIn("model.channels 2, and the other networks 3", self.refusal(self.saved(both, "both.pt")))
        self.assertIn("has no generator", self.refusal(self.saved(discriminator, "D.pt")))
        self.assertIn("D has the tensors of a generator", self.refusal(self.saved(generator, "D.pt")))
        self.assertIn("relu", self.refusal(self.pickled({"G": Persistent(generator, {"synthesis.b8.conv0": {"activation": "relu"}})})))
        narrow = {**generator, "synthesis.b8.conv1.affine.weight": torch.randn(3, LATENT)}
        self.assertIn("network.pt", self.refusal(self.saved(narrow, "network.pt")))

    def test_what_a_killed_import_left_is_removed_by_the_next(self):
        file = self.saved(residual_generator().state_dict())
        words = [sys.executable, "-m", "gangway.tools", "import", file, "-o", "run", "model.resolution=32"]
        process = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(ROOT / "share/python")}, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not (left := list(self.folder.glob(".gangway-import-*"))) and time.monotonic() < end:
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.assertEqual(len(left), 1)
        self.imported(file, "model.resolution=32")
        self.assertEqual(set(self.folder.iterdir()), {file, self.folder / "run"})

    def test_a_wrong_command_is_refused(self):
        file = self.saved(residual_generator().state_dict())
        Path("run").mkdir()
        self.assertIn("is there already", self.refusal(file, code=2))
        Path("run").rmdir()
        self.assertIn("cannot be read", self.refusal("nothing.pkl", code=2))
        self.assertIn("model.widht", self.refusal(file, "model.widht=3", code=2))


if __name__ == "__main__":
    os.environ["GANGWAY_BIN"] = os.path.abspath(os.environ["GANGWAY_BIN"])
    unittest.main()
