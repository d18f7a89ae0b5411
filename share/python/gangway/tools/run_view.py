# SPDX-License-Identifier: MIT
"""Reads a run directory into one document (docs/control.md) for static pages. Main thread."""
import base64
import contextlib
import json
import time
from pathlib import Path

from gangway.tools.recorded import said_by

PICTURE_BYTES = 12 * 2**20  # in one page: fits a mail, and a browser opens it at once


def _data_uri(file: Path, kind: str, most_bytes: int) -> str | None:
    """Returns a file as a data URI. None: it cannot be read, or is larger than `most_bytes`."""
    with contextlib.suppress(OSError):
        if file.is_file() and file.stat().st_size <= most_bytes:
            return f"data:{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"
    return None


def chosen(pictures: list[dict], most_bytes: int) -> list[dict]:
    """Returns pictures that surely fit: real ones, the first, the last, and evenly spaced fakes."""
    largest = max((picture["bytes"] + picture.get("sound_bytes", 0) for picture in pictures), default=1)
    most = max(2, most_bytes // max(1, largest))
    if len(pictures) <= most:
        return pictures
    kept = [picture for picture in pictures if picture["kind"] != "fakes"]
    fakes = [picture for picture in pictures if picture["kind"] == "fakes"]
    count, last = max(1, most - len(kept)), len(fakes) - 1
    return kept + [fakes[place * last // (count - 1) if count > 1 else last] for place in range(min(count, len(fakes)))]


def run_document(run: Path, picture_bytes: int = PICTURE_BYTES) -> dict:
    """Returns the document with pictures within `picture_bytes`; "pictures_left_out": the rest."""
    document = json.loads(said_by("run-view", run))
    taken = chosen(document["pictures"], picture_bytes)
    for picture in taken:
        for name, inside, kind in (("file", "data", "image/png"), ("sound", "sound_data", "audio/wav")):
            if name in picture and (data := _data_uri(run / picture[name], kind, picture_bytes)):
                picture[inside] = data
    return {**document, "pictures_left_out": len(document["pictures"]) - len(taken),
            "pictures": [picture for picture in taken if "data" in picture], "made_unix": time.time()}
