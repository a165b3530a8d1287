"""A slow simulator of machines that sleep: a queue without backfilling, second by second, on lists of machines."""

from itertools import takewhile


class SecondBySecond:
    """Jobs in their order, each started when it is the first and as many cores are free, on machines that sleep.

    Parameters
    ----------
    jobs
        Submission, runtime and cores of each, in order of submission, in whole seconds.
    sizes
        The cores of each machine.
    after_s, boot_s, awake
        As in `simmodels.SleepPolicy`, in whole seconds.
    """

    def __init__(
        self, jobs: list[tuple[int, int, int]], sizes: list[int], *, after_s: int, boot_s: int, awake: int
    ) -> None:
        self.jobs, self.sizes = jobs, sizes
        self.after_s, self.boot_s, self.awake = after_s, boot_s, awake
        self.now = jobs[0][0]
        self.free, self.idle_since = list(sizes), [self.now] * len(sizes)
        self.off_since: dict[int, int] = {}
        self.comes: dict[int, int] = {}
        self.running: list[tuple[int, dict[int, int]]] = []
        self.starts: list[int] = []
        self._off: list[tuple[int, int, int]] = []

    def run(self) -> None:
        """Run until all is done."""
        while True:
            self._end()
            again = True
            while again:
                self._come()
                self._start()
                again = self._look()
            if len(self.starts) == len(self.jobs) and not self.running:
                return
            self.now += 1

    def spans(self) -> list[tuple[int, int, int]]:
        """Return when each machine was off, spans that meet as one: one that is on for no time at all is not on."""
        found: list[tuple[int, int, int]] = []
        still = [(machine, since, self.now) for machine, since in self.off_since.items()]
        for machine, start, end in sorted([*self._off, *still]):
            meets = bool(found) and found[-1][0] == machine and found[-1][2] == start
            found.append((machine, found.pop()[1] if meets else start, end))
        return found

    def _end(self) -> None:
        for each in [each for each in self.running if each[0] == self.now]:
            self.running.remove(each)
            for machine, cores in each[1].items():
                self.free[machine] += cores
                self.idle_since[machine] = self.now

    def _come(self) -> None:
        for machine in [machine for machine, at in self.comes.items() if at == self.now]:
            del self.comes[machine]
            self._off.append((machine, self.off_since.pop(machine), self.now))
            self.idle_since[machine] = self.now

    def _on(self) -> list[int]:
        return [machine for machine in range(len(self.sizes)) if machine not in self.off_since]

    def _waiting(self) -> list[tuple[int, int, int]]:
        return list(takewhile(lambda job: job[0] <= self.now, self.jobs[len(self.starts) :]))

    def _start(self) -> None:
        for _, runtime, need in self._waiting():
            if need > sum(self.free[machine] for machine in self._on()):
                return
            places: dict[int, int] = {}
            for machine in self._on():
                places[machine] = min(self.free[machine], need - sum(places.values()))
                self.free[machine] -= places[machine]
            self.running.append((self.now + runtime, {machine: cores for machine, cores in places.items() if cores}))
            self.starts.append(self.now)

    def _look(self) -> bool:
        """Wake machines, or let them sleep; return whether one comes at once."""
        on, waiting = self._on(), self._waiting()
        if not waiting:
            due = [machine for machine in on if self.idle_since[machine] + self.after_s <= self.now]
            idle = [machine for machine in due if self.free[machine] == self.sizes[machine]]
            for machine in sorted(idle, reverse=True)[: len(on) - self.awake]:
                self.off_since[machine] = self.now
            return False
        missing = sum(cores for _, _, cores in waiting) - sum(self.free[machine] for machine in on)
        for machine in sorted(self.off_since):
            if missing - sum(self.sizes[each] for each in self.comes) > 0:
                self.comes.setdefault(machine, self.now + self.boot_s)
        return self.boot_s == 0 and bool(self.comes)
