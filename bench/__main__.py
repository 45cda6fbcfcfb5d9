"""Prints every measurement with its goal, and asserts nothing: `python -m bench [NAME…]`, without a name all."""

from __future__ import annotations

import sys

from bench import (
    measure_admission,
    measure_api,
    measure_bindings,
    measure_check,
    measure_clusters,
    measure_configs,
    measure_control,
    measure_decide,
    measure_edit,
    measure_envsubst,
    measure_folders,
    measure_load,
    measure_loop,
    measure_operator,
    measure_peers,
    measure_plan,
    measure_render,
    measure_start,
    measure_status,
    measure_transform,
    measure_versions,
    measure_world,
)
from bench.table import print_table

MEASUREMENTS = {
    "admission": measure_admission,
    "api": measure_api,
    "decide": measure_decide,
    "peers": measure_peers,
    "edit": measure_edit,
    "loop": measure_loop,
    "operator": measure_operator,
    "control": measure_control,
    "versions": measure_versions,
    "configs": measure_configs,
    "bindings": measure_bindings,
    "envsubst": measure_envsubst,
    "render": measure_render,
    "transform": measure_transform,
    "check": measure_check,
    "clusters": measure_clusters,
    "plan": measure_plan,
    "world": measure_world,
    "start": measure_start,
    "status": measure_status,
    "load": measure_load,
    "folders": measure_folders,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        print(f"there is no measurement {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}", file=sys.stderr)
        return 2
    for name in names or MEASUREMENTS:
        print_table(MEASUREMENTS[name].TITLE, MEASUREMENTS[name].rows())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
