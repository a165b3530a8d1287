"""The types of options for type checkers: made of the classes of options; `python -m tests.option_types` writes them.

A function or class that takes ``**options`` has at run time the signature that `takes_options` gives it. Type checkers
do not run code: for them, the same parameters stand in a module of typed dictionaries, one for each taker.
"""

import inspect
import json
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin

import simmodels as sm

PATH: Final = Path(__file__).parent.parent / "simmodels" / "policies" / "option_types.py"
HEAD: Final = '''"""The types of options that are taken by name, for type checkers alone; made by `make options`."""
'''
MANY: Final = 5
"""This many options, and more, stand once."""


def takers() -> Iterator[tuple[str, list[inspect.Parameter]]]:
    """Hand out the name of each public function or class that takes options, with these options."""
    for name in sm.__all__:
        found: Any = getattr(sm, name)
        function = vars(found).get("__init__") if isinstance(found, type) else found
        signature = getattr(function, "__signature__", None)
        if signature is not None:
            code = inspect.unwrap(function).__code__
            own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            yield name, [each for each in signature.parameters.values() if each.name not in own]


def text_of(kind: Any, modules: dict[str, set[str]]) -> str:  # noqa: ANN401  a type
    """Return a type as source has it, and note the names that it needs, by module."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in {None, types.NoneType}:
        return "None"
    if kind is Ellipsis:
        return "..."
    if origin in {Union, types.UnionType}:
        return " | ".join(text_of(part, modules) for part in parts)
    if origin is Literal:
        modules.setdefault("typing", set()).add("Literal")
        return f"Literal[{', '.join(map(json.dumps, parts))}]"
    named = origin or kind
    if named.__module__ != "builtins":
        modules.setdefault(named.__module__, set()).add(named.__name__)
    return named.__name__ + (f"[{', '.join(text_of(part, modules) for part in parts)}]" if origin else "")


def title_of(name: str) -> str:
    """Return a name as one of a class."""
    return "".join(part[0].upper() + part[1:] for part in name.split("_"))


def text() -> str:
    """Return the module: many options that the same takers have stand once, in a dictionary that theirs derive from."""
    modules: dict[str, set[str]] = {"typing": {"TypedDict"}}
    typed = {
        name: {each.name: f"    {each.name}: {text_of(each.annotation, modules)}" for each in options}
        for name, options in takers()
    }
    shared: dict[tuple[str, ...], list[str]] = {}  # options by those who take them, of the same type
    for option, line in dict.fromkeys(pair for lines in typed.values() for pair in lines.items()):
        names = tuple(name for name, lines in typed.items() if lines.get(option) == line)
        shared.setdefault(names, []).append(option)
    classes, bases = [], dict[str, list[str]]()
    for names, options in shared.items():
        if len(names) > 1 and len(options) >= MANY:
            base = f"_With{title_of(options[0])}"
            lines = [typed[names[0]][option] for option in options]
            of = f'    """Of {", ".join(f"`{name}`" for name in names)}."""'
            classes.append("\n".join([f"class {base}(TypedDict, total=False):", of, "", *lines]))
            for name in names:
                bases.setdefault(name, []).append(base)
                typed[name] = {option: line for option, line in typed[name].items() if option not in options}
    for name, lines in typed.items():
        head = f"class {title_of(name)}Options({', '.join(bases.get(name, ['TypedDict']))}, total=False):"
        classes.append("\n".join([head, f'    """Of `{name}`."""', "", *lines.values()]).rstrip())
    imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(modules.items())]
    ours = [line for line in imports if line.startswith("from simmodels")]
    others = [line for line in imports if line not in ours]
    return "\n\n\n".join(["\n".join([HEAD, *others, "", *ours]), *classes]) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
