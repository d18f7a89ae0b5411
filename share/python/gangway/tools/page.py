# SPDX-License-Identifier: MIT
"""Pages of HTML, one file each: that of runs (docs/run-page.md), and what other pages need."""
import json
import os
import re
from pathlib import Path

from gangway.errors import Failed

FILES = Path(__file__).resolve().parents[3] / "page"  # share/page of a checkout, share/gangway/page of what is installed
ENVIRONMENT = 6
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


def write_whole(file: Path, text: str) -> None:
    """The file is there as a whole, or as it was. Raises Failed where it cannot be written."""
    if file.exists() and not file.is_file():
        raise Failed(f"{file}: is no regular file; name a file to be written", ENVIRONMENT)
    beside = file.with_name(file.name + ".tmp")
    try:
        # Through a link in its place, somebody else's file would be overwritten.
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
        try:
            with open(descriptor, "w", encoding="utf-8", errors="replace") as out:
                out.write(text)
                out.flush()
                os.fsync(descriptor)
            os.replace(beside, file)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Failed(f"{file}: cannot be written: {error.strerror}; choose another place", ENVIRONMENT) from None
