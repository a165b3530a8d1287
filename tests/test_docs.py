"""The documentation runs: every ``python`` and ``console`` block of README.md and docs, page by page.

The blocks of a page run in order, in a new folder and a process of their own: the Python blocks in one namespace, as
one script would, each console block as one bash script of its lines that start with ``$ ``. What stands above a block
(as a comment that a reader does not see) says what it needs:

``<!-- test: file NAME -->``
    Link this file of the shared data into the folder first; also for a later block. May name several.
``<!-- test: output -->``
    The block must print exactly the lines shown in it; ``...`` stands for anything.
``<!-- test: exit 2 -->``
    The console block must end with this status instead of 0.
``<!-- test: skip REASON -->``
    The block is not run.

A Python block that starts with ``>>>`` runs as a doctest, and must show what it shows.

A picture of docs/figures/PAGE is the file of its name that the blocks of PAGE write.
"""

import doctest
import os
import re
import subprocess
import sys
import textwrap
import types
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

ROOT = Path(__file__).resolve().parent.parent
PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if path.is_file()]
RUN = ("python", "console")
# What would be read as code to run, under names that this test does not look for.
OTHER_NAMES = {"py", "python3", "pycon", "bash", "sh", "shell", "shell-session", "zsh"}
TIMEOUT_S = 900
FOLDERS = ("traces", "capacity", "traces/borg")  # of the shared data, where a page's files are looked for
STAND_INS = ROOT / "tests" / "stand_ins"  # for the commands of batch systems

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
_FIGURE = re.compile(r"!\[[^]]*\]\((?P<path>[^)]*\bfigures/(?P<page>[\w-]+)/(?P<name>[\w-]+\.png))\)")
_DIRECTIVE = re.compile(r"^\s*<!--\s*test:\s*(?P<text>.*?)\s*-->\s*$")
_WORDS = ("file", "output", "exit", "save", "skip")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page: its language, its lines, the number of the first of them, and what is said above."""

    language: str
    lines: tuple[str, ...]
    first: int
    said: dict[str, str]

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines) + "\n"


def blocks_of(page: str) -> list[Block]:
    """Return the fenced blocks of a page, with the directives above each."""
    blocks: list[Block] = []
    said: dict[str, str] = {}
    opened: re.Match[str] | None = None
    body: list[str] = []
    for number, line in enumerate(page.splitlines(), start=1):
        if opened is not None:
            if re.fullmatch(rf" *{re.escape(opened['fence'][0])}{{{len(opened['fence'])},}} *", line):
                lines = tuple(textwrap.dedent("\n".join(body)).split("\n")) if body else ()
                blocks.append(Block(opened["language"], lines, number - len(body), said))
                opened, body, said = None, [], {}
            else:
                body.append(line)
        elif found := _FENCE.match(line):
            opened = found
        elif found := _DIRECTIVE.match(line):
            word, _, rest = found["text"].partition(" ")
            if word not in _WORDS:
                raise ValueError(f"line {number}: unknown directive {word!r}; known: {', '.join(_WORDS)}")
            said[word] = f"{said[word]} {rest}" if word in said else rest
        elif line.strip() and said:
            raise ValueError(f"line {number}: a directive must stand right above its block")
    if opened is not None:
        raise ValueError(f"a {opened['language'] or 'fenced'} block is not closed")
    return blocks


def commands_of(block: Block) -> tuple[str, str]:
    """Return the commands of a console block as one script, and the output that it shows."""
    commands: list[str] = []
    shown: list[str] = []
    for line in block.lines:
        if commands and commands[-1].endswith("\\") and not shown:
            commands.append(line.removeprefix("> "))
        elif line.startswith("$ "):
            commands.append(line[2:])
        else:
            shown.append(line)
    return "\n".join(commands) + "\n", "\n".join(shown) + "\n"


def matches(wanted: str, got: str) -> bool:
    """Return whether the text is as wanted; ``...`` in what is wanted stands for anything."""
    pattern = ".*".join(re.escape(part) for part in wanted.rstrip().split("..."))
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in got.rstrip().split("\n")), re.DOTALL) is not None


def run_console(block: Block) -> None:
    """Run a console block as one bash script."""
    commands, shown = commands_of(block)
    if not commands.strip():
        raise ValueError(f"line {block.first}: a console block without a line that starts with '$ '")
    script = "set -euo pipefail\n" + commands
    done = subprocess.run(
        ["bash", "-c", script], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False
    )
    sys.stdout.write(done.stdout)
    wanted = int(block.said.get("exit", "0"))
    if done.returncode != wanted:
        raise AssertionError(f"line {block.first}: exit status {done.returncode}, and {wanted} was wanted")
    if "output" in block.said and not matches(shown, done.stdout):
        raise AssertionError(f"line {block.first}: the page shows\n{shown}and this was printed\n{done.stdout}")


def run_doctest(block: Block, names: dict[str, object], page: str) -> None:
    """Run a block of prompts and answers."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.DONT_ACCEPT_BLANKLINE
    test = doctest.DocTestParser().get_doctest(block.text, {}, page, page, block.first - 1)
    test.globs = names
    result = doctest.DocTestRunner(optionflags=options, verbose=False).run(test, clear_globs=False)
    if result.failed:
        raise AssertionError(f"line {block.first}: {result.failed} of {result.attempted} examples failed")


def run_page(page: Path) -> None:
    """Run the blocks of a page in order, here and now; the first that fails ends it."""
    blocks = [
        block
        for block in blocks_of(page.read_text("utf-8"))
        if "save" in block.said or (block.language in RUN and "skip" not in block.said)
    ]
    # The Python of the page as a real file, so that the source of its functions can be looked up; line N of it is
    # line N of the page. Its name is no package's, whatever the page is called.
    script = Path("page.py").resolve()
    lines = [""] * max((block.first + len(block.lines) for block in blocks), default=0)
    for block in blocks:
        if block.language == "python" and not block.text.startswith(">>>") and "save" not in block.said:
            lines[block.first - 1 : block.first - 1 + len(block.lines)] = block.lines
    script.write_text("\n".join(lines), "utf-8")
    main = types.ModuleType("__main__")
    main.__file__ = str(script)
    sys.modules["__main__"] = main
    for block in blocks:
        if "save" in block.said:
            Path(block.said["save"]).write_text(block.text, "utf-8")
        elif block.language == "console":
            run_console(block)
        elif block.text.startswith(">>>"):
            run_doctest(block, main.__dict__, page.name)
        else:
            code = compile("\n" * (block.first - 1) + block.text, str(script), "exec")
            exec(code, main.__dict__)  # noqa: S102  # our own documentation


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_of_the_page_runs(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    blocks = [block for block in blocks_of(page.read_text("utf-8")) if block.language in RUN]
    files = " ".join(block.said["file"] for block in blocks if "file" in block.said and "skip" not in block.said)
    for name in sorted(set(files.split())):
        folders = [request.getfixturevalue("shared") / folder for folder in FOLDERS]
        (tmp_path / name).symlink_to(
            next((path for each in folders if (path := each / name).exists()), folders[0] / name)
        )
    if not any("skip" not in block.said for block in blocks):
        return
    inherited = os.environ.get("PYTHONPATH")
    surroundings = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(STAND_INS), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *([inherited] if inherited else [])]),
        "MPLBACKEND": "Agg",
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", __file__, str(page)],
        cwd=tmp_path,
        env=surroundings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"{page.relative_to(ROOT)}:\n{done.stdout[-6000:]}", pytrace=False)
    for figure in _FIGURE.finditer(page.read_text("utf-8")):
        made, shown = tmp_path / figure["name"], page.parent / figure["path"]
        assert figure["page"] == page.stem, f"{figure['path']} belongs to another page"
        assert looks_like(made, shown), f"{shown.relative_to(ROOT)} is not what the page draws: {made}"


def looks_like(one: Path, other: Path) -> bool:
    """Return whether two pictures are the same, except for what machines round differently."""
    a, b = imread(one), imread(other)
    return a.shape == b.shape and float(np.abs(a - b).mean()) < 1e-3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_block_of_the_page_hides_code_under_another_name(page: Path) -> None:
    for block in blocks_of(page.read_text("utf-8")):
        assert block.language not in OTHER_NAMES, f"line {block.first}: call it python or console, so that it is run"


def test_the_links_of_the_page_for_language_models_lead_to_pages() -> None:
    links = re.findall(r"\]\((.*?)\)", (ROOT / "docs" / "llms.txt").read_text("utf-8"))
    pages = [ROOT / "docs" / link.removesuffix(".html") for link in links]
    assert [page for page in pages if not (page.with_suffix(".md").exists() or page.with_suffix(".rst").exists())] == []
    assert pages


# -- this test, tested ------------------------------------------------------------------------------

PAGE = """# A page

```python
answer = 6 * 7
```

- In a list:

  ```python
  assert answer == 42
  ```

<!-- test: exit 2 -->
<!-- test: output -->
```console
$ echo 1 \\
    2
$ echo some long line; exit 2
1 2
some ... line
```

````text
```python
raise ValueError
```
````
"""


def test_blocks_are_found_with_their_lines_and_directives() -> None:
    answer, indented, console, text = blocks_of(PAGE)
    assert (answer.language, answer.lines, answer.first, answer.said) == ("python", ("answer = 6 * 7",), 4, {})
    assert (indented.lines, indented.first) == (("assert answer == 42",), 10)
    assert console.said == {"exit": "2", "output": ""}
    assert commands_of(console) == (
        "echo 1 \\\n    2\necho some long line; exit 2\n",
        "1 2\nsome ... line\n",
    )
    assert (text.language, len(text.lines)) == ("text", 3)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<!-- test: slip -->\n```python\n```\n",
            "line 1: unknown directive 'slip'; known: file, output, exit, save, skip",
        ),
        ("<!-- test: output -->\nprose\n", "line 2: a directive must stand right above its block"),
        ("```python\nx = 1\n", "a python block is not closed"),
    ],
)
def test_a_page_with_a_mistake_in_its_marks_is_refused(page: str, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        blocks_of(page)


def run_text(page: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a page given as text."""
    (folder / "page.md").write_text(page, "utf-8")
    command = [sys.executable, "-P", "-W", "error", __file__, "page.md"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)


def test_a_page_runs_its_blocks_in_order_and_in_one_namespace(tmp_path: Path) -> None:
    done = run_text(PAGE, tmp_path)
    assert (done.returncode, done.stdout) == (0, "1 2\nsome long line\n"), done.stderr


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("\n\n```python\n\n1 / 0\n```\n", 'page.py", line 5'),
        ("```console\n$ false\n$ true\n```\n", "line 2: exit status 1, and 0 was wanted"),
        ("```console\n$ false | true\n```\n", "line 2: exit status 1, and 0 was wanted"),
        ("<!-- test: output -->\n```console\n$ echo 2\n1\n```\n", "line 3: the page shows\n1\n"),
        ("```python\n>>> 1 + 1\n3\n```\n", "line 2: 1 of 1 examples failed"),
        ("```python\nimport warnings\nwarnings.warn('old')\n```\n", "UserWarning: old"),
        ("```console\nno command\n```\n", "a console block without a line"),
    ],
)
def test_a_page_that_fails_says_where(page: str, text: str, tmp_path: Path) -> None:
    done = run_text(page, tmp_path)
    assert done.returncode != 0
    assert text in done.stdout + done.stderr


def test_a_block_that_is_skipped_is_not_run(tmp_path: Path) -> None:
    done = run_text("<!-- test: skip it takes a cluster -->\n```console\n$ false\n```\n", tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_block_that_is_saved_is_a_file_for_those_after_it(tmp_path: Path) -> None:
    saved = "<!-- test: save answer.toml -->\n```toml\nanswer = 42\n```\n"
    done = run_text(saved + "```console\n$ grep -q 42 answer.toml\n```\n", tmp_path)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
