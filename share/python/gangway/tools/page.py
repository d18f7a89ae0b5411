# SPDX-License-Identifier: MIT
"""Pages of HTML, one file each: that of runs (docs/control.md), and what other pages need."""
import json
import re
from pathlib import Path

FILES = Path(__file__).resolve().parents[3] / "page"  # share/page of a checkout, share/gangway/page of what is installed
# What is inside the file, and nothing from elsewhere.
POLICY = ("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
          "style-src 'unsafe-inline'; img-src data:; media-src data:\">")


def html_text(text: str) -> str:
    """`text` between the tags of a page."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def joined_modules(name: str, files: Path = FILES, joined: set[str] | None = None) -> str:
    """A module and those that it imports, before it, as one script: without `import` lines and the word `export`."""
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
    """The page of runs with its files inside, which needs no server.
    @param document  of a run, or a comparison of runs; title: of the window"""
    page = (FILES / "index.html").read_text("utf-8")
    style = "".join((FILES / name).read_text("utf-8") for name in re.findall('rel="stylesheet" href="(.+?)"', page))
    # A string of the document may hold anything: no "<" in it may end the element.
    content = json.dumps(document, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"<title>.*?</title>": f"<title>{html_text(title)}</title>",
             "<!-- style -->.*?<!-- end -->": f"{POLICY}\n<style>\n{style}</style>",
             "<!-- script -->.*?<!-- end -->": f'<script type="application/json" id="document">{content}</script>\n'
                                               f'<script type="module">\n{joined_modules("main.js")}</script>'}
    for place, by in parts.items():
        page = re.sub(place, lambda _: by, page, count=1, flags=re.DOTALL)
    return page
