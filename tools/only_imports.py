"""An import contract: packages that may import only their own project and a named few others."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OnlyImportsContract(Contract):
    """Keeps source_modules, and everything below them, to the allowed_modules."""

    source_modules = fields.ListField(subfield=fields.ModuleField())
    allowed_modules = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        strays = [
            (importer, imported)
            for source in self.source_modules  # type: ignore[attr-defined]
            for importer in sorted({source.name} | graph.find_descendants(source.name))
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if not self._may_import(source.name, imported)
        ]
        return ContractCheck(kept=not strays, metadata={"strays": strays})

    def _may_import(self, source: str, imported: str) -> bool:
        root = imported.split(".", maxsplit=1)[0]
        return root == source.split(".", maxsplit=1)[0] or root in self.allowed_modules  # type: ignore[operator]

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["strays"]:
            output.print_error(f"{importer} imports {imported}, which is not on its allow list.")
