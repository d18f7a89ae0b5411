# SPDX-License-Identifier: MIT
"""The model card, README.md with Hugging Face's header (https://huggingface.co/docs/hub/model-cards)."""
from gangway import job_file
from gangway.tools.publish.folder import CHECKPOINT

NO_FID = " It is not the FID, which uses the Inception network (docs/evaluation.md of Gangway)."
TEXT = """---
{header}---

# {name}

![Pictures of seeds {seeds}](samples.png)

The {weights} weights of a {network} of family {family} at step {step}, after {images} images.

- Digest of the training state: `{digest}` (`gangway digest`).
- Trained on `{data}`. Published by {made_by} on {processor}.
{scores}
```python
import numpy, onnxruntime

generator = onnxruntime.InferenceSession("generator.onnx")
(output,) = generator.run(None, {{{inputs}}})
```

`config.json` has inputs and ranges, `model.safetensors` the same weights alone, `job.yaml` the job that trained them. To check all of it:

```
gangway verify .
```
"""
TRAINING = """
`{checkpoint}` holds all networks, averages and optimizer state. To train on:

```
gangway run job.yaml --resume {checkpoint} --run NAME -n 2 data.source=images:FOLDER training.kimg=KIMG
```
"""


def _header(name: str, license_name: str, config: dict) -> str:
    task = "image-to-image" if config["inputs"][0]["name"] == "image" else "unconditional-image-generation"
    header = {"license": license_name, "library_name": "gangway", "pipeline_tag": task, "tags": ["gan", config["family"], "gangway", "onnx"]}
    if config["scores"]:
        metrics = [{"type": score["name"].lower(), "name": score["name"], "value": score["value"]} for score in config["scores"]]
        results = [{"task": {"type": task}, "dataset": {"name": config["data"], "type": config["data"]}, "metrics": metrics}]
        header["model-index"] = [{"name": name, "results": results}]
    return job_file.text_of(header, sort_keys=False, width=10**6)


def _example(one: dict) -> str:
    """Returns an input of 16 examples, as Python."""
    if one["name"] == "labels":
        return f'"labels": numpy.arange(16) % {one["range"][1] + 1}'
    sizes = ", ".join(str(size if isinstance(size, int) else 256) for size in one["shape"][1:])
    return f'"{one["name"]}": numpy.random.{"randn" if one["name"] == "noise" else "rand"}(16, {sizes}).astype(numpy.float32)'


def text_of(name: str, license_name: str, config: dict) -> str:
    scores = ("- {name} {value:.4g}, of {samples} examples.".format_map(score) + NO_FID * score["name"].startswith("FD") + "\n"
              for score in config["scores"])
    text = TEXT.format_map({**config, "name": name, "header": _header(name, license_name, config), "scores": "".join(scores),
                            "inputs": ", ".join(map(_example, config["inputs"]))})
    return text + (TRAINING.format(checkpoint=CHECKPOINT.format(config["step"])) if config.get("training") else "")
