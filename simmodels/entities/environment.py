"""Environment: SimPy's, with named random streams, exact instants, and observers."""

import gc
import itertools
from collections.abc import Callable, Generator
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Any, ClassVar, Final, NoReturn, Protocol, TypeVar, TypeVarTuple

import numpy as np
import simpy
from simpy.core import StopSimulation
from simpy.events import NORMAL, Event, EventPriority, Timeout

from simmodels.errors import RequestError, StoppedError
from simmodels.ground import streams
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import as_seed

Process = Generator[Event, Any, Any]
_Entity = TypeVar("_Entity")
_Event = TypeVar("_Event")
_Parts = TypeVarTuple("_Parts")

ENDED: Final = EventPriority(2)
"""Who refills a machine at each completion does so after the completions and submissions of the instant, ..."""
POWER: Final = EventPriority(3)
"""... power changes come then ..."""
ROUTE: Final = EventPriority(4)
"""... routers say where jobs go after everything else of their instant, ..."""
LAST: Final = EventPriority(5)
"""... and then schedulers decide."""
END: Final = EventPriority(6)
"""Who looks at what has been decided in an instant does so last."""


class End(Event):
    """The event of the end of something that acts: until then it is alive, as a process of SimPy is."""

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return not self.triggered


class Happens(Protocol):
    """What SimPy asks of an event when it happens."""

    callbacks: Any
    _ok: bool


_runs: Final = itertools.count(1)
_step: Final = simpy.Environment.step


class Environment(simpy.Environment):
    """The clock of a model, and what all its entities share.

    Parameters
    ----------
    seed
        The seed of every random stream of the model (>= 0).
    start_s
        The instant at which the clock starts, in seconds.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment(seed=7)
    >>> draws = env.stream("failures").random(3)
    >>> bool((draws == sm.Environment(seed=7).stream("failures").random(3)).all())
    True
    """

    collects_every: ClassVar[int] = 64
    """How many runs apart models that are done are looked for: Python's collector finds none while all is frozen.

    A model is a circle of references; 45,000 small ones, one after the other, took 2 GB. To look takes a tenth of a
    second where code is compiled, so a program that runs many small models may look less often.
    """

    def __init__(self, *, seed: int = 0, start_s: Duration = 0.0) -> None:
        super().__init__(initial_time=as_seconds("start_s", start_s))
        self.seed = as_seed(seed)
        self._left = False
        self.has_run = False
        """Whether `run` was called."""
        self._takes_all = False  # whether the next step is the first of a run, which takes them all
        self._seeds = streams.Seeds(self.seed)
        self._entities: list[object] = []
        self._shared: dict[object, Any] = {}
        self._calls: list[tuple[float, EventPriority, int, Any]] = []  # of this instant
        self._observers: dict[object, list[Callable[..., object]]] = {}  # by class of events; of their parts

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Environment at {self.now:g} s: seed {self.seed}, {len(self._entities)} entities>"

    @property
    def observed(self) -> set[object]:
        """Return the classes of events that have observers."""
        return {kind for kind, observers in self._observers.items() if observers}

    now = property(attrgetter("_now"), doc="The instant, in seconds.")  # SimPy's, without a call of Python

    def run(self, until: Duration | Event | None = None) -> Any:  # noqa: ANN401  as simpy.Environment
        """Run until an instant (before its events), until an event happens, or until nothing is left to happen.

        Python's collector looks only at what the run makes: whatever is there before (compiled code, above
        all) is frozen meanwhile, or it would be gone through again and again.

        Raises
        ------
        RequestError
            The instant is none, or has passed. Or an earlier run failed, or was left by Ctrl-C: an event may have
            happened in part, and there is no going on from there.
        StoppedError
            Nothing is left to happen, and the event has not happened.
        """
        if self._left:
            what = "the run failed, or was interrupted in the middle of an instant"
            raise RequestError(what, "make a new environment")
        self.has_run = True
        if until is not None and not isinstance(until, Event):
            until = as_seconds("until", until, above=self.now, finite=False, also="an event, or None")
        ours = gc.get_freeze_count() == 0
        if ours:
            if next(_runs) % self.collects_every == 0:
                gc.collect()
            gc.freeze()
        self._takes_all = getattr(self.step, "__func__", None) is _OWN_STEP  # else each event is to be a step
        try:
            return super().run(until)
        except BaseException as error:
            if isinstance(error, RuntimeError) and str(error).startswith("No scheduled events left"):  # SimPy's words
                what = f"at {self.now:g} s nothing is left to happen, and the event of until has not"
                raise StoppedError(what, "a Recorder has the schedule so far") from None
            waited = isinstance(until, Event) and until.triggered and until.value is error  # it is what was asked for
            self._left = not waited
            raise
        finally:
            self._takes_all = False
            if ours:
                gc.unfreeze()

    def stream(self, *names: str | int) -> np.random.Generator:
        """Return the random generator of these names: the same seed and names, the same numbers."""
        return streams.stream(self.seed, *names)

    def seed_of(self, purpose: str, *names: str) -> int:
        """Return a seed for an entity that draws, so that no two of a purpose draw the same numbers.

        The first that asks gets the seed of the environment, and so draws what the compiled engine draws. The seed of
        each other one is made of that, the purpose and its names; and, where these are the same, its number among them.

        Parameters
        ----------
        purpose
            What is drawn.
        names
            What the entity is called, or serves.
        """
        return self._seeds.of(purpose, *names)

    def enter(self, entity: object) -> None:
        """Take note of an entity of the model; each enters itself when it is made."""
        self._entities.append(entity)

    def shared(self, kind: Callable[[], _Entity]) -> _Entity:
        """Return the one object of a class that all entities of the environment share; the first that asks makes it."""
        if kind not in self._shared:
            self._shared[kind] = kind()
        found: _Entity = self._shared[kind]
        return found

    def all(self, kind: type[_Entity]) -> list[_Entity]:
        """Return the entities of a kind (of a class or its subclasses), in the order they were made."""
        return [entity for entity in self._entities if isinstance(entity, kind)]

    def timeout(self, delay: Duration = 0, value: Any = None) -> Timeout:  # noqa: ANN401  as simpy.Environment
        """Return an event after a delay, in seconds (>= 0, else `RequestError`); see `at` for an exact instant."""
        return Timeout(self, as_seconds("delay", delay, least=0, finite=False), value)

    def at(self, time_s: Duration, value: object = None) -> Event:
        """Return an event at just this instant; a timeout of ``time_s - now`` may miss it by rounding.

        Parameters
        ----------
        time_s
            The instant, in seconds.
        value
            The value of the event.

        Raises
        ------
        RequestError
            The instant is past.
        """
        if not isinstance(time_s, float):
            time_s = as_seconds("time_s", time_s, finite=False)
        event = Event(self)
        event._ok = True  # noqa: SLF001  as simpy.Timeout does it
        event._value = value  # noqa: SLF001
        self.happens_at(time_s, event)
        return event

    def happens_at(self, time_s: float, event: Happens) -> None:
        """Let what has callbacks happen at an instant; it is as `at`, and for what happens often, or again."""
        if time_s < self._now:
            raise RequestError(f"an event at {time_s:g} s", f"it is {self._now:g} s already")
        heappush(self._queue, (time_s, NORMAL, next(self._eid), event))  # type: ignore[misc]  # to SimPy it is one

    def _call_off(self, event: Event) -> None:
        """Take an event that is still to come, and that nobody waits for, out of the queue of events."""
        self._queue[:] = [entry for entry in self._queue if entry[3] is not event]  # in place: a run goes on with it
        heapify(self._queue)

    def end_of(self, time_s: Duration) -> Event:
        """Return an event at the end of an instant: ``run(until=env.end_of(t))`` runs what happens at t, too."""
        end = Event(self)
        self.at(time_s).callbacks.append(lambda _: self.trigger(end, END))
        return end

    def trigger(self, event: Event, priority: EventPriority) -> None:
        """Let a pending event happen at this instant, after those of a lower priority number."""
        event._ok = True  # noqa: SLF001  as Event.succeed does it, with a priority
        event._value = None  # noqa: SLF001
        heappush(self._queue, (self._now, priority, next(self._eid), event))

    def call(self, function: Callable[[], object], priority: EventPriority) -> None:
        """Call a function at this instant, when an event would happen that is triggered now; none is created.

        Most instants end with such a call. It waits apart: among the events that are to come, of which there is one for
        each job that runs, it would rise to the top and leave it at once, which takes as long as two events.
        """
        heappush(self._calls, (self._now, priority, next(self._eid), function))

    def step(self) -> None:
        """Let the next event happen, as SimPy does, or the next call."""
        if self._takes_all:
            self._takes_all = False
            self._run_on()
        calls = self._calls
        if calls and not (self._queue and self._queue[0] < calls[0]):
            heappop(calls)[3]()
        else:
            _step(self)

    def _run_on(self) -> NoReturn:
        """Let all happen that is to come, as `step` does one by one: its two calls an event take 2 % of a run."""
        queue, calls = self._queue, self._calls
        while True:
            if calls and not (queue and queue[0] < calls[0]):
                heappop(calls)[3]()
            elif not (queue and queue[0][3]._ok):  # noqa: SLF001  nothing is left, or it failed
                _step(self)
            else:
                self._now, _, _, event = heappop(queue)
                callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]  # as SimPy does it
                for callback in callbacks:
                    try:
                        callback(event)
                    except StopSimulation:  # the others see the event when the clock goes on
                        event.callbacks = callbacks[callbacks.index(callback) + 1 :]
                        self.schedule(event, EventPriority(-1))
                        raise

    def peek(self) -> float:
        """Return the instant of the next event, or call; infinity if there is none."""
        return self._now if self._calls else super().peek()

    def ring(self, priority: EventPriority) -> Event:
        """Return an event of this instant, which happens after those of a lower priority number."""
        event = Event(self)
        self.trigger(event, priority)
        return event

    def powering(self) -> Event:
        """Return an event of this instant, when machines are switched: after attempts end, before decisions."""
        return self.ring(POWER)

    def on(self, kind: type[_Event], observer: Callable[[_Event], object]) -> None:
        """Call an observer with each event of a class from now on, at the instant at which it happens.

        Parameters
        ----------
        kind
            The class: one of `simmodels.entities.events`, or one of your own that your entities `publish`.
        observer
            Gets the event; what it returns is ignored. Observers of a class are called in the order they were added.

        Examples
        --------
        >>> import simmodels as sm
        >>> env = sm.Environment()
        >>> env.on(sm.Ended, lambda event: print(event.attempt.job.job_id, "ended at", env.now))
        """
        if not isinstance(kind, type):
            raise RequestError(f"env.on({kind!r}, ...)", "give the event as a class, such as simmodels.Ended")
        observers = self.observers_of(kind)
        last = observers[-1] if observers else None
        if not isinstance(last, _Observers):
            last = _Observers(kind)
            observers.append(last)
        last.each.append(observer)

    def observers_of(self, kind: object) -> list[Callable[..., object]]:
        """Return what is called with the parts of each event of a class, in this order; the list grows.

        One that needs no event adds itself here. And who publishes often keeps the list, and calls its observers: where
        there are only such, no event is created.
        """
        return self._observers.setdefault(kind, [])

    def publish(self, kind: Callable[[*_Parts], object], *parts: *_Parts) -> None:
        """Call the observers of an event, which is created if any of them needs it.

        Parameters
        ----------
        kind
            The class of the event.
        parts
            What it is created from, in order.
        """
        for see in self._observers.get(kind, ()):
            see(*parts)


_OWN_STEP: Final = Environment.step


class _Observers:
    """Observers of one class of events that are called one after the other, with the same event."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.each: list[Callable[[Any], object]] = []

    def __call__(self, *parts: object) -> None:
        """Create the event, and call them."""
        event = self._kind(*parts)
        for observer in self.each:
            observer(event)
