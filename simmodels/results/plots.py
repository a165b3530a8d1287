"""Plots: the figures of a schedule, drawn by the package that has them."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from simmodels.errors import RequestError
from simmodels.ground.arguments import Guided, by_name
from simmodels.ground.durations import Duration
from simmodels.ground.plugins import plugin


class Plots(Guided):
    """The figures of a schedule; each is a `matplotlib.figure.Figure` that a notebook shows.

    They are those of `experiments.figures`, which also draws several schedules side by side.

    Parameters
    ----------
    schedule
        A `Schedule` of at least one job.
    """

    __slots__ = ("_schedule",)
    _instead: ClassVar = dict.fromkeys(
        ("[]", "hist", "line", "show", "savefig", "save"), "draw with plot.gantt(), plot.queue() or plot.waits()"
    )

    def __init__(self, schedule: Any) -> None:  # noqa: ANN401  a Schedule, which is above
        self._schedule = schedule

    if not TYPE_CHECKING:  # a type checker says so itself

        def __call__(self, *_: object, **__: object) -> object:
            """Refuse a call, which would not say what to draw."""
            raise RequestError("plot() does not say what to draw", self._instead["[]"])

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<figures of {self._schedule!r}: gantt(), queue(), waits()>"

    @by_name("plot.gantt().savefig('out.png') writes a file")
    def gantt(
        self,
        *,
        start_s: Duration | None = None,
        end_s: Duration | None = None,
        colour: Literal["job", "user", "wait", "length"] | None = None,
        title: str | None = None,
        width_in: float = 10.0,
    ) -> Any:  # noqa: ANN401  a Figure
        """Return a Gantt chart: time to the right, cores or machines upwards; see `experiments.figures.gantt`.

        Parameters
        ----------
        start_s, end_s
            The window to draw, in seconds since the trace's zero; None: all of it.
        colour
            What the colour of a job shows. None: ``"length"`` where machines are switched, else ``"job"``.
        title
            None: workload and policy.
        width_in
            Its width in inches.
        """
        return _drawn("gantt")(
            self._schedule, start_s=start_s, end_s=end_s, colour=colour, title=title, width_in=width_in
        )

    @by_name("plot.queue().savefig('out.png') writes a file")
    def queue(
        self,
        *,
        start_s: Duration | None = None,
        end_s: Duration | None = None,
        title: str | None = None,
        size_in: tuple[float, float] = (10.0, 5.0),
    ) -> Any:  # noqa: ANN401  a Figure
        """Return the cores in use and the jobs that wait, over time; see `experiments.figures.utilisation_and_queue`.

        Parameters
        ----------
        start_s, end_s
            The window to draw, in seconds since the trace's zero; None: all of it.
        title
            None: workload and policy.
        size_in
            Width and height in inches.
        """
        return _drawn("queue")(self._schedule, start_s=start_s, end_s=end_s, title=title, size_in=size_in)

    @by_name("plot.waits().savefig('out.png') writes a file")
    def waits(
        self,
        *,
        what: Literal["wait_s", "response_s", "bounded_slowdown"] = "wait_s",
        tau_s: Duration = 10.0,
        title: str | None = None,
        width_in: float = 9.0,
    ) -> Any:  # noqa: ANN401  a Figure
        """Return how waits are distributed over the jobs; see `experiments.figures.distributions`.

        Parameters
        ----------
        what
            ``"wait_s"``, or another quantity: ``"response_s"`` or ``"bounded_slowdown"``.
        tau_s
            The bound of the bounded slowdown, in seconds, > 0.
        title
            None: the quantity and the workload.
        width_in
            Width in inches.
        """
        about = self._schedule.about
        policy = next((str(about[name]) for name in ("bid", "heuristic", "order") if name in about), "schedule")
        return _drawn("waits")({policy: self._schedule}, what=what, tau_s=tau_s, title=title, width_in=width_in)


def _drawn(name: str) -> Any:  # noqa: ANN401  a function
    """Return the function that draws a figure; refuse if no package has one."""
    found = plugin(name)
    if found is None:
        raise RequestError("no package that draws schedules is installed", "install schedlab (pip install .)")
    return found
