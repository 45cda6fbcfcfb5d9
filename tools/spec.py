"""Which rule of docs/spec is proved by which tests.

A rule is stated by a line that begins with `- **R0-7**`; a test proves it by `@pytest.mark.rule("R0-7")`. Fails where a
stated rule has no test, or a test names a rule that is stated nowhere.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
_STATED = re.compile(r"^- \*\*([RBS]\d+(?:-\d+)?[a-z]?)\*\*")


def stated_rules() -> dict[str, str]:
    """Rules by the page that states them."""
    rules = {}
    for page in sorted((ROOT / "docs" / "spec").glob("*.md")):
        for line in page.read_text(encoding="utf-8").splitlines():
            match = _STATED.match(line)
            if match:
                rules[match.group(1)] = page.name
    return rules


def proving_tests() -> dict[str, list[str]]:
    """The tests that name each rule."""
    tests: dict[str, list[str]] = defaultdict(list)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for rule in _rules_of(node):
                    tests[rule].append(f"{file.relative_to(ROOT)}::{node.name}")
    return tests


def _rules_of(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    rules = []
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.rule":
            rules += [each.value for each in decorator.args if isinstance(each, ast.Constant)]
    return [str(rule) for rule in rules]


def _order(rule: str) -> tuple[str, int, int]:
    match = re.match(r"([RBS])(\d+)(?:-(\d+))?", rule)
    assert match is not None
    return match.group(1), int(match.group(2)), int(match.group(3) or 0)


def main() -> int:
    stated, proved = stated_rules(), proving_tests()
    verbose = "-v" in sys.argv[1:]
    for rule in sorted(stated, key=_order):
        tests = proved.get(rule, [])
        print(f"{rule:7} {stated[rule]:22} {len(tests) or 'NO'} test{'' if len(tests) == 1 else 's'}")
        for test in tests if verbose else []:
            print(f"        {test}")
    missing = [rule for rule in stated if rule not in proved]
    unknown = [rule for rule in proved if rule not in stated]
    print(f"{len(stated)} rules stated, {len(stated) - len(missing)} proved", end="")
    print(f"; without a test: {', '.join(missing)}" if missing else "", end="")
    print(f"; stated nowhere: {', '.join(unknown)}" if unknown else "")
    return 1 if missing or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
