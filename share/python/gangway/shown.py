# SPDX-License-Identifier: MIT
"""Values of a run that show themselves in a notebook: pictures, and the figures of its ticks."""
import base64
import html
import io
from pathlib import Path

LAST_TICKS = 8
FIGURES = ("kimg", "images_per_second")


class Picture:
    """Holds a PNG picture. `caption`: its seed, or its file."""

    def __init__(self, png: bytes, caption: str):
        self.png, self.caption = png, caption

    def __repr__(self):
        return f"Picture({self.caption!r}, {len(self.png)} bytes of PNG)"

    def __array__(self, dtype=None, copy=None):
        """Returns uint8 [H, W] or [H, W, 3], for numpy.asarray() and matplotlib."""
        import numpy
        return numpy.array(self.image(), dtype)

    def image(self):
        """Returns it as Pillow's Image."""
        from PIL import Image
        return Image.open(io.BytesIO(self.png))

    def save(self, file) -> None:
        Path(file).write_bytes(self.png)

    def _repr_png_(self):
        return self.png

    def _repr_html_(self):
        text = html.escape(self.caption)
        return (f'<figure style="display:inline-block;margin:2px"><img alt="{text}" src="data:image/png;base64,'
                f'{base64.b64encode(self.png).decode()}"><figcaption>{text}</figcaption></figure>')


class Pictures(list):
    """Holds pictures, beside one another in a notebook."""

    def _repr_html_(self):
        return "".join(picture._repr_html_() for picture in self)


class Stats(list):
    """Holds a dict for each tick; its last ticks are a table in a notebook."""

    def _repr_html_(self):
        last = self[-LAST_TICKS:]
        names = [*FIGURES, *(name for name in (last[-1] if last else ()) if name.endswith("_loss"))]
        rows = [[f"{float('nan') if tick.get(name) is None else tick[name]:.5g}" for name in names] for tick in last]  # null: no number
        return "<table>" + "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in [names, *rows]) + "</table>"
