"""The documentation runs: every ``python`` and ``console`` block of README.md and docs, page by page.

The blocks of a page run in order, in a new folder and a process of their own; `tests.pages` says how. That process, and
each that is started by the name of our command, is the fork of one that has imported the libraries (`tests.warm`).

A picture of docs/figures/PAGE is the file of its name that the blocks of PAGE write.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from tests import pages, warm
from tests.pages import RUN, blocks_of, commands_of

ROOT = Path(__file__).resolve().parent.parent
PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if path.is_file()]
# What would be read as code to run, under names that this test does not look for.
OTHER_NAMES = {"py", "python3", "pycon", "bash", "sh", "shell", "shell-session", "zsh"}
TIMEOUT_S = 900
FOLDERS = ("traces", "capacity", "traces/borg")  # of the shared data, where a page's files are looked for
STAND_INS = ROOT / "tests" / "stand_ins"  # for the commands of batch systems

Started = tuple[tuple[str, ...], Path]
RunText = Callable[[str], "subprocess.CompletedProcess[str]"]

_FIGURE = re.compile(r"!\[[^]]*\]\((?P<path>[^)]*\bfigures/(?P<page>[\w-]+)/(?P<name>[\w-]+\.png))\)")


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Yield the command that runs a page, and the folder of a `schedlab` that starts as fast."""
    folder = tmp_path_factory.mktemp("bin")
    ours = shutil.which("schedlab", path=str(Path(sys.executable).parent))
    with warm.served() as command:
        if ours is not None:  # else the project is not installed, and no page has a command
            (folder / "schedlab").write_text(f'#!/bin/sh\nexec {shlex.join([*command, ours])} "$@"\n', "utf-8")
            (folder / "schedlab").chmod(0o700)
        yield (*command, pages.__file__), folder


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
    command, folder = request.getfixturevalue("started")
    inherited = os.environ.get("PYTHONPATH")
    places = (folder, Path(sys.executable).parent, STAND_INS, os.environ.get("PATH", os.defpath))
    surroundings = {
        **os.environ,
        "PATH": os.pathsep.join(map(str, places)),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *([inherited] if inherited else [])]),
        "MPLBACKEND": "Agg",
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [*command, str(page)],
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
    named = [ROOT / "docs" / link.removesuffix(".html") for link in links]
    assert [page for page in named if not (page.with_suffix(".md").exists() or page.with_suffix(".rst").exists())] == []
    assert named


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

<!-- test: skip it takes a cluster -->
```console
$ false
```

<!-- test: save answer.toml -->
```toml
answer = 42
```

```console
$ grep 42 answer.toml
```
"""


def test_blocks_are_found_with_their_lines_and_directives() -> None:
    answer, indented, console, text, *_ = blocks_of(PAGE)
    assert (answer.language, answer.lines, answer.first, answer.said) == ("python", ("answer = 6 * 7",), 4, {})
    assert (indented.lines, indented.first) == (("assert answer == 42",), 10)
    assert console.said == {"exit": "2", "output": ""}
    assert commands_of(console) == ("echo 1 \\\n    2\necho some long line; exit 2\n", "1 2\nsome ... line\n")
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


@pytest.fixture
def run_text(started: Started, tmp_path: Path) -> RunText:
    """Run a page given as text."""

    def ran(page: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "page.md").write_text(page, "utf-8")
        command = [*started[0], "page.md"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)

    return ran


def test_a_page_runs_its_blocks_in_order_and_in_one_namespace_and_saves_and_skips_some(run_text: RunText) -> None:
    done = run_text(PAGE)
    assert (done.returncode, done.stdout) == (0, "1 2\nsome long line\nanswer = 42\n"), done.stderr


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
def test_a_page_that_fails_says_where(page: str, text: str, run_text: RunText) -> None:
    done = run_text(page)
    assert done.returncode != 0
    assert text in done.stdout + done.stderr
