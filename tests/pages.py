"""A page of the documentation and its blocks: ``python tests/pages.py PAGE`` runs those of ``python`` and ``console``.

The blocks run in order, in the folder where the command is given: the Python blocks in one namespace, as
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
"""

import doctest
import re
import subprocess
import sys
import textwrap
import types
from dataclasses import dataclass
from pathlib import Path

RUN = ("python", "console")
_WORDS = ("file", "output", "exit", "save", "skip")

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
_DIRECTIVE = re.compile(r"^\s*<!--\s*test:\s*(?P<text>.*?)\s*-->\s*$")


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


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
