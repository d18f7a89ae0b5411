# SPDX-License-Identifier: MIT
"""Builds the run page (docs/control.md) as one HTML file, """
import html
import json
import re
from pathlib import Path

FILES = Path(__file__).resolve().parents[3] / "page"  # installed: share/gangway/page
# The page may load only what the file holds.
POLICY = ("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
          "style-src 'unsafe-inline'; img-src data:; media-src data:\">")


def joined_modules(name: str, files: Path = FILES, joined: set[str] | None = None) -> str:
    """Returns a module, after its imported modules, as one script without import or export."""
    joined = {name} if joined is None else joined
    before, own = "", ""
    for line in (files / name).read_text("utf-8").splitlines(keepends=True):
        if not line.startswith("import "):
            own += line.removeprefix("export ")
        elif (needed := re.search(r'"\./(.+)"', line)[1]) not in joined:
            joined.add(needed)
            before += joined_modules(needed, files, joined)
    return before + own


def static_page(document: dict, title: str) -> str:
    """Returns the run page with its files inlined. @param document  of run_document(), or a comparison; title: the window's"""
    page = (FILES / "index.html").read_text("utf-8")
    style = "".join((FILES / name).read_text("utf-8") for name in re.findall('rel="stylesheet" href="(.+?)"', page))
    # A string of the document may hold "</script>", so "<" is escaped.
    content = json.dumps(document, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"<title>.*?</title>": f"<title>{html.escape(title, quote=False)}</title>",
             "<!-- style -->.*?<!-- end -->": f"{POLICY}\n<style>\n{style}</style>",
             "<!-- script -->.*?<!-- end -->": f'<script type="application/json" id="document">{content}</script>\n'
                                               f'<script type="module">\n{joined_modules("main.js")}</script>'}
    for place, by in parts.items():
        page = re.sub(place, lambda _: by, page, count=1, flags=re.DOTALL)
    return page
