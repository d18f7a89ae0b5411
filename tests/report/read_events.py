# SPDX-License-Identifier: MIT
"""Reads the TensorBoard writer's event files with the PyPI package and compares them with the written values.

Usage: read_events.py WRITER, where WRITER is the built program write_events.
"""
import subprocess
import sys
import tempfile

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def check(condition: bool, what: object) -> None:
    if not condition:
        sys.exit(f"read_events: {what}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        everything = {"scalars": 0, "images": 0, "histograms": 0, "tensors": 0}
        events = EventAccumulator(folder, size_guidance=everything)
        events.Reload()

        check(events.file_version == 2.0, f"file version {events.file_version}")
        tags = events.Tags()
        for tag in ("Loss/generator", "Loss/discriminator", "Speed/images_per_second", "Progress/kimg"):
            check(tag in tags["scalars"], f"{tag} is missing among {tags['scalars']}")

        losses = [(event.step, event.value) for event in events.Scalars("Loss/generator")]
        check(losses == [(10, 0.5), (300, 0.25)], f"steps after the resumed one were not replaced: {losses}")
        check(events.Scalars("Loss/discriminator")[0].value == -2.0, "a negative value is not read back")
        check(abs(events.Scalars("Loss/generator")[0].wall_time - 1.7e9) < 100, "wall time is not read back")

        exposed = [(event.step, event.value) for event in events.Scalars("Exposed/generator")]
        check(exposed == [(10, 0.125)], f"exposed seconds {exposed}")

        written = {"gradient_norm": 2, "weight_norm": 4, "update_ratio": 0.5, "lr": 0.25, "updates": 10}
        for tag, value in written.items():
            found = [(event.step, event.value) for event in events.Scalars(f"Optimizer/generator_{tag}")]
            check(found == [(10, value)], f"{tag} {found}")
        check(events.Scalars("Figures/discriminator_accuracy")[0].value == 0.75, "a figure is not read back")

        drawn, = events.Histograms("Weights/generator")
        histogram = drawn.histogram_value
        check(drawn.step == 8, f"histogram of step {drawn.step}")
        total = sum([-0.5, 1, float(np.float32(1.1)), 1.25])
        check((histogram.min, histogram.max, histogram.num, histogram.sum) == (-0.5, 1.25, 4, total), histogram)
        check(list(histogram.bucket_limit) == [-0.5, 1, 1.25, 1.5] and list(histogram.bucket) == [1, 0, 2, 1],
              f"buckets {histogram}")

        mark, = events.Tensors("Events")
        check(mark.step == 9 and mark.tensor_proto.string_val[0].decode() == "goes on with 3 workers, Größe 七", mark)
        check(events.SummaryMetadata("Events").plugin_data.plugin_name == "text", "the mark is not drawn as a text")

        image, = events.Images("Images/fakes")
        check((image.step, image.height, image.width) == (10, 4, 5), f"image {image.step} {image.height} {image.width}")
        check(image.encoded_image_string.startswith(b"\x89PNG"), "the image is no PNG")
    print("read_events: all values came back")


if __name__ == "__main__":
    main()
