import io
import sys

import pytest

from experiments.campaigns.progress import Counting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_is_printed_each_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    with Counting(1000) as counting:
        for _ in range(100):
            counting.add(10, 0, 0.1)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("100 of 1,000 cells, ")
    assert lines[-1].startswith("1,000 of 1,000 cells, ")
    assert lines[-1].endswith("/s, 0 s left")
    assert counting.cells_s == pytest.approx(10.0)


def test_failures_are_reported_and_a_large_batch_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Counting(100) as counting:
        counting.add(50, 0, 0.1)
        counting.add(45, 1, 0.1)
        counting.add(1, 0, 0.1)
    assert [line.endswith(", 1 failed") for line in capsys.readouterr().err.splitlines()] == [False, True]
    assert (counting.done, counting.failed) == (96, 1)


def test_quiet_or_without_stderr_nothing_is_printed_and_nothing_to_do_is_no_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Counting(10, quiet=True) as counting:
        counting.add(10, 1, 0.1)
    with Counting(0) as none:
        none.add(0, 0, 0.0)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", None)
    with Counting(1) as counting:
        counting.add(1, 0, 0.1)
    assert counting.done == 1


def test_a_terminal_gets_a_bar_and_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with Counting(10) as counting:
        counting.add(5, 1, 0.1)
        counting._bar.refresh()
    shown = terminal.getvalue()
    assert "5/10" in shown
    assert "1 failed" in shown
    assert " of 10 cells" not in shown


def test_a_note_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    text = "a [bold]note[/bold] " + "that is long " * 30
    Counting(1).print_note(text)
    assert capsys.readouterr().err == text + "\n"
