"""Compare the results of two runs: every record of every system's metrics.json, value for value.

OLD and NEW are `data/08_reporting` folders. Records with the same system, variant, seed, task, data, protocol, split
and metric are compared. The exit status is 1 if anything differs, 0 if all records are equal.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

#: What identifies a record; the other keys hold measured numbers.
KEYS = ("system", "variant", "seed", "task", "data", "protocol", "split", "metric")

Record = dict[str, Any]
RecordKey = tuple[Any, ...]


class Comparison(NamedTuple):
    """The outcome of comparing two folders; the tables' columns are KEYS, then "field", "old" and "new"."""

    equal: int
    different: list[list[str]]
    missing: list[list[str]]
    new: list[list[str]]

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs, is missing or is new."""
        return not (self.different or self.missing or self.new)


def read_records(folder: Path) -> dict[RecordKey, Record]:
    """Read the records of all systems below `folder`, by their keys.

    Raises ValueError if there are none, if a key is missing, or if two records have the same keys.
    """
    files = sorted(folder.glob("*/metrics.json"))
    if not files:
        raise ValueError(f"{folder}: no */metrics.json; give a folder data/08_reporting")
    records: dict[RecordKey, Record] = {}
    for file in files:
        for record in json.loads(file.read_text(encoding="utf-8")):
            if absent := [key for key in KEYS if key not in record]:
                raise ValueError(f"{file}: a record without {', '.join(absent)}: {record}")
            identity = tuple(record[key] for key in KEYS)
            if identity in records:
                raise ValueError(f"{file}: two records of {' '.join(map(str, identity))}")
            records[identity] = record
    return records


def is_same(old: object, new: object, tolerance: float) -> bool:
    """Whether two values are equal, or two numbers at most `tolerance` apart."""
    if isinstance(old, int | float) and isinstance(new, int | float):
        return old == new or abs(old - new) <= tolerance
    return old == new


def compare(
    old: dict[RecordKey, Record], new: dict[RecordKey, Record], ignored: Iterable[str] = (), tolerance: float = 0.0
) -> Comparison:
    """Compare two sets of records by their keys."""
    ignored = {*ignored, *KEYS}
    comparison, equal = Comparison(equal=0, different=[], missing=[], new=[]), 0
    for identity, record in old.items():
        row = [str(part) for part in identity]
        if identity not in new:
            comparison.missing.append([*row, "value", str(record.get("value", "–")), "–"])
            continue
        differences = []
        for field in sorted((record.keys() | new[identity].keys()) - ignored):
            values = record.get(field, "–"), new[identity].get(field, "–")
            if not is_same(*values, tolerance):
                differences.append([*row, field, *map(str, values)])
        comparison.different.extend(differences)
        equal += not differences
    for identity, record in new.items():
        if identity not in old:
            comparison.new.append([*map(str, identity), "value", "–", str(record.get("value", "–"))])
    return comparison._replace(equal=equal)


def print_table(title: str, rows: list[list[str]], limit: int) -> None:
    """Print the first `limit` rows below a title, in columns that are aligned."""
    if not rows:
        return
    table = [[*KEYS, "field", "old", "new"], *rows[:limit]]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    print(f"\n{title}: {len(rows)}")
    for row in table:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if len(rows) > limit:
        print(f"  … and {len(rows) - limit} more; --limit {len(rows)} shows all")


def main(arguments: list[str] | None = None) -> int:
    """Print what differs; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, metavar="OLD", help="a folder data/08_reporting")
    parser.add_argument("new", type=Path, metavar="NEW", help="another")
    parser.add_argument(
        "--ignore", action="append", default=["seconds"], metavar="KEY", help="do not compare KEY (always: seconds)"
    )
    parser.add_argument("--tolerance", type=float, default=0.0, help="numbers this far apart are equal (default: 0)")
    parser.add_argument("--limit", type=int, default=50, help="rows of each table that are printed (default: 50)")
    options = parser.parse_args(arguments)
    try:
        old, new = read_records(options.old), read_records(options.new)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    comparison = compare(old, new, options.ignore, options.tolerance)
    print(f"{len(old)} records in {options.old}, {len(new)} in {options.new}: {comparison.equal} are equal")
    print_table("Different", comparison.different, options.limit)
    print_table("Missing in NEW", comparison.missing, options.limit)
    print_table("Only in NEW", comparison.new, options.limit)
    return 0 if comparison.is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
