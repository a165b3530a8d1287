"""schedlab's models: workloads, clusters, schedulers, and what they decide.

>>> import simmodels as sm
"""

from simmodels.ground.facade import open_facade

_COMMANDS = ("advise", "compare", "forecast", "learn", "report", "reproduce")

open_facade(
    __name__,
    {each: f"`schedlab {each}` is a command" for each in _COMMANDS}
    | {"compare": "simulate once for each policy, or use the command `schedlab compare`"}
    | {each: f"a schedule has it: simulate(...).{each}" for each in ("plot", "validate")},
)
