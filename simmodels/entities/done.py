"""Done: the instant at which a model has nothing left to do, though processes of it never end."""

from simpy.events import Event

from simmodels.entities.attempt import Attempt
from simmodels.entities.decider import Decider
from simmodels.entities.environment import END, Environment
from simmodels.entities.source import Source
from simmodels.ground.arguments import as_instance


def all_done(env: Environment) -> Event:
    """Return an event that happens when all sources have submitted all, and all that was submitted is done.

    That is at the end of an instant, after its decisions. Jobs of which no source knows count once they are submitted.

    Parameters
    ----------
    env
        The environment; its sources, schedulers and routers must have been made.

    Returns
    -------
    Event
        Happens at that instant; ``env.run(until=all_done(env))`` runs the model until then.

    Raises
    ------
    RequestError
        `env` is no `Environment`.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> cluster = sm.Cluster(env, "c", machines=2, cores_per_machine=4)
    >>> capacity = sm.MarkovCapacity(env, cluster, low=1, high=2, step=1, period_s=10)  # without an end
    >>> scheduler = sm.QueueScheduler(env, cluster)
    >>> source = sm.Source(env, {"submit_s": [0], "runtime_s": [5], "cores": [4]}, into=scheduler)
    >>> env.run(until=sm.all_done(env))
    >>> env.now
    5.0
    """
    return _Watch(as_instance("env", env, Environment)).done


class _Watch:
    """Stands behind the schedulers as a router does, and hears what is decided and what ends."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.done = Event(env)
        self._looks = False
        self._sources = env.all(Source)
        self._deciders = env.all(Decider)
        for each in self._deciders:
            each.routers = (*each.routers, self)
        for source in self._sources:
            if source.process.is_alive:
                source.process.callbacks.append(lambda _: self._ring())
        self._ring()

    def note_end(self, _: Attempt) -> None:
        """Take note that an attempt has ended."""
        self._ring()

    def note_decision(self) -> None:
        """Take note that somebody has decided."""
        self._ring()

    def note_room(self) -> None:
        """Take note that jobs may find cores: which ends nothing."""

    def _ring(self) -> None:
        if not (self._looks or self.done.triggered):
            self._looks = True
            self.env.ring(END).callbacks.append(self._look)

    def _look(self, _: Event) -> None:
        self._looks = False
        fed = not any(source.process.is_alive for source in self._sources)
        if fed and not self.done.triggered and all(map(_has_nothing_to_do, self._deciders)):
            self.env.trigger(self.done, END)


def _has_nothing_to_do(decider: Decider) -> bool:
    """Return whether all is done, or whoever decides decides no more and nothing runs."""
    return decider.is_idle or (decider.closed and not any(cluster.running for cluster in decider.clusters))
