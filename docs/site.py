# SPDX-License-Identifier: MIT
"""Lets mkdocs show pages and source files outside docs/, where pages link to them. Named in mkdocs.yml.

README.md is the site's first page and docs/README.md its index by task. A linked source file becomes a page that
shows it, and a linked folder a list of its files. The links themselves are those of a checkout.
"""
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)")  # [text](file#part)
NAMED = re.compile(r"\(docs/([\w-]+\.md)\)")  # in the generated page of keys
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".py": "python", ".yaml": "yaml", ".proto": "protobuf"}
PLACES = {"README.md": "index.md", "docs/README.md": "tasks.md"}
sources = {}  # place of a page in the site: its path in the checkout


def place_of(path):
    inside = path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}"
    return PLACES.get(path) or (inside if Path(path).suffix in (".md", ".png", ".svg", ".wav") else inside + ".md")


def has_links(path):
    return path.endswith(".md") or (ROOT / path).is_dir()


def text_of(path):
    if (ROOT / path).is_dir():
        return f"# {path}\n\n" + "".join(f"- [{one.name}]({one.name})\n" for one in sorted((ROOT / path).iterdir()))
    text = (ROOT / path).read_text()
    if path.endswith(".md"):
        return NAMED.sub(r"([\1](\1))", text) if path == "docs/job-file.md" else text
    return f"---\nsearch: {{exclude: true}}\n---\n\n# {path}\n\n````{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n````\n"


def target_of(path, link):
    """Returns the path in the checkout that a page's link leads to."""
    folder = path if (ROOT / path).is_dir() else posixpath.dirname(path)
    return posixpath.normpath(posixpath.join(folder, link))


def on_files(files, config):
    own = list(files.documentation_pages())
    for file in own:
        files.remove(file)
    ahead = ["README.md", *(f"docs/{file.src_uri}" for file in own)]
    sources.clear()
    while ahead:
        path = ahead.pop()
        if place_of(path) not in sources and place_of(path).endswith(".md") and (ROOT / path).exists():
            sources[place_of(path)] = path
            files.append(File.generated(config, place_of(path), content=text_of(path)))
            if has_links(path):
                ahead += [target_of(path, link) for link in LINK.findall(text_of(path))]
    return files


def on_page_markdown(markdown, page, config, files):
    path, here = sources[page.file.src_uri], posixpath.dirname(page.file.src_uri) or "."
    if not has_links(path):
        return markdown
    return LINK.sub(lambda link: posixpath.relpath(place_of(target_of(path, link[0])), here), markdown)
