"""What import-linter does not check: no circle of imports, by module."""

from graphlib import TopologicalSorter

import grimp


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("contexture", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle
