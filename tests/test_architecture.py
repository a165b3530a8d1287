"""The house has no circle: what a module imports, at its head or in a function, does not lead back to it."""

import grimp
import networkx as nx


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the modules of each circle."""
    graph = nx.DiGraph((module, imported) for module, all_ in imports.items() for imported in all_)
    return [sorted(each) for each in nx.strongly_connected_components(graph) if len(each) > 1]


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("simmodels", "workloads", "experiments", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert {"experiments.cli.main", "workloads.swf", "simmodels.passes.queue_events"} <= imports.keys()
    assert circles(imports) == []


def test_a_circle_is_found_wherever_its_imports_stand() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
