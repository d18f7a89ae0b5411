# SPDX-License-Identifier: MIT
"""Reads event files of the TensorBoard writer with the PyPI package and compares them with what was written.

Usage: read_events.py WRITER, where WRITER is the built program write_events.
"""
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def check(condition: bool, what: object) -> None:
    if not condition:
        sys.exit(f"read_events: {what}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        events = EventAccumulator(folder, size_guidance={"scalars": 0, "images": 0})
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

        image, = events.Images("Images/fakes")
        check((image.step, image.height, image.width) == (10, 4, 5), f"image {image.step} {image.height} {image.width}")
        check(image.encoded_image_string.startswith(b"\x89PNG"), "the image is no PNG")
    print("read_events: all values came back")


if __name__ == "__main__":
    main()
