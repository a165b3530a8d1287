"""Pages: Markdown that reads well in a checkout, turned into what the site needs.

- README.md of this folder is the map. It becomes the site's index, and its lists of links the navigation.
- README, CONTRIBUTING and CHANGELOG of the checkout become pages too, and links to them lead there.
- A link to another file of the checkout becomes plain text: the checkout has no public address.
- A DOI or a number of arXiv becomes a link.
- ``<!-- made: ... -->`` becomes what `generated` makes of the definitions.
- ``<!-- test: ... -->`` is a mark for the tests (tests/pages.py), and leaves no trace.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from generated import with_tables
from sphinx.application import Sphinx
from sphinx.util import logging

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
# Pages that are only a name here, and the files that they show.
SHOWN = {
    "index": DOCS / "README.md",
    "project/readme": ROOT / "README.md",
    "project/contributing": ROOT / "CONTRIBUTING.md",
    "project/changelog": ROOT / "CHANGELOG.md",
}
_FENCE = re.compile(r" *(?P<fence>`{3,}|~{3,})")
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\]\[`]|`[^`]*`)*)\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
_MARK = re.compile(r"^ *<!-- test: .* -->$", re.MULTILINE)
_DOI = re.compile(r"(?<![\w/.'\"`])10\.\d{4,9}/(?:\([^\s()]*\)|[^\s(),;|<>'\"`])*[^\s(),;|<>'\"`.:]")
_ARXIV = re.compile(r"(?<=arXiv[: ])\d{4}\.\d{5}\b")
_ENTRY = re.compile(r"^(?:- .*?|  \[.*?)\]\((?P<path>[^)#:\s]+)\)")

logger = logging.getLogger(__name__)


def parts(text: str) -> Iterator[tuple[str, bool]]:
    """Return the parts of a page, code blocks and what is between them, and whether each is such a block."""
    fence, part = "", list[str]()
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found and not fence:
            yield "\n".join([*part, ""]), False
            fence, part = found["fence"], []
        part.append(line)
        if found and len(part) > 1 and line.strip() == found["fence"] and found["fence"].startswith(fence):
            yield "\n".join([*part, ""]), True
            fence, part = "", []
    yield "\n".join(part), False


def cited(text: str, link: str) -> str:
    """Return a text with the numbers of papers as links, for which the template has the address in place of braces."""
    return _ARXIV.sub(link.format("https://arxiv.org/abs/"), _DOI.sub(link.format("https://doi.org/"), text))


def relinked(text: str, file: Path, docname: str) -> str:
    """Return prose of a file with its links as they must be on the page that shows it."""
    folder = (DOCS / docname).parent
    names = {path: DOCS / f"{name}.md" for name, path in SHOWN.items()}

    def link(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(file.parent / found["path"]))
        if not target.exists():
            logger.warning("%s links to %s, which does not exist", file.relative_to(ROOT), found["path"])
        target = names.get(target, target)
        if not target.is_relative_to(DOCS) or target.is_dir():
            return found["text"]
        path = Path(os.path.relpath(target, folder)).as_posix()
        return f"{found['image']}[{found['text']}]({path}{found['anchor'] or ''})"

    return cited(_LINK.sub(link, text), r"[\g<0>]({}\g<0>)")


def navigation(text: str) -> str:
    """Return the tables of contents of the map: one for each section that lists pages, in its order."""
    parts: list[str] = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, *lines = section.split("\n")
        pages = [found["path"] for line in lines if (found := _ENTRY.match(line))]
        pages = [page for page in dict.fromkeys(pages) if not page.endswith(".ipynb")]  # to download, not to read
        if pages:
            caption = title.partition(":")[0]
            parts += ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]
    return "\n".join(parts)


def read(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Make of a file of the checkout what the site's parser is handed."""
    file = SHOWN.get(docname, DOCS / f"{docname}.md")
    if not file.exists():
        return  # reStructuredText, which no checkout shows
    text = with_tables(file.read_text("utf-8"))
    source[0] = "".join(
        part if is_code else _MARK.sub("", relinked(part, file, docname)) for part, is_code in parts(text)
    )
    if docname == "index":
        source[0] += "\n\n" + navigation(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register this with Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
