"""The contract of deliveries that consist of files: folders and branches are held to it alike."""

from __future__ import annotations

import pytest

from fleetform.deliver.tree import INVENTORY, file_hash
from fleetform.model.results.decisions import PluginKey
from fleetform.ports.delivery import Deliverer, Note, Parcel

A: PluginKey = ("acme", "eu-1", "cert-manager")
B: PluginKey = ("acme", "eu-2", "cert-manager")
NOTE = Note({each: f"{each[1]}  {each[2]}  1.3.2 → 1.4.0  cert-manager-7f3a, stage qa" for each in (A, B)})


def parcel(key: PluginKey, **files: str) -> Parcel:
    contents = {f"{name}.yaml": text.encode() for name, text in files.items()}
    digest = file_hash(repr(sorted(contents.items())).encode())
    return Parcel(key, contents, digest, f"h1:{digest[-8:]}", "1.4.0")


class DeliveryContract:
    """Subclasses give a delivery, what can be seen of it, and a way to put a file there by hand."""

    delivery: Deliverer

    def seen(self) -> dict[str, str]:
        """Every file of a plugin's folder but inventories."""
        raise NotImplementedError

    def put(self, path: str, text: str) -> None:
        raise NotImplementedError

    def take(self, path: str) -> None:
        raise NotImplementedError

    @pytest.mark.rule("S49")
    def test_objects_stand_below_their_cluster_and_plugin(self) -> None:
        assert self.delivery.deliver([parcel(A, one="1", two="2"), parcel(B, one="1")], [], NOTE) == {}
        assert self.seen() == {
            "eu-1/cert-manager/one.yaml": "1",
            "eu-1/cert-manager/two.yaml": "2",
            "eu-2/cert-manager/one.yaml": "1",
        }

    def test_what_is_no_longer_part_of_a_plugin_goes_and_nothing_else(self) -> None:
        self.delivery.deliver([parcel(A, one="1", two="2"), parcel(B, one="1")], [], NOTE)
        self.put("eu-1/cert-manager/theirs.yaml", "theirs")
        assert self.delivery.deliver([parcel(A, two="changed", three="3")], [], NOTE) == {}
        assert self.seen() == {
            "eu-1/cert-manager/three.yaml": "3",
            "eu-1/cert-manager/two.yaml": "changed",
            "eu-1/cert-manager/theirs.yaml": "theirs",
            "eu-2/cert-manager/one.yaml": "1",
        }

    def test_a_file_that_somebody_else_put_there_is_not_replaced(self) -> None:
        self.put("eu-1/cert-manager/one.yaml", "theirs")
        failed = self.delivery.deliver([parcel(A, one="1", two="2"), parcel(B, one="1")], [], NOTE)
        assert list(failed) == [A]
        assert failed[A].message == "eu-1/cert-manager/one.yaml is there already, and not from Fleetform"
        assert failed[A].refused
        assert self.seen() == {"eu-1/cert-manager/one.yaml": "theirs", "eu-2/cert-manager/one.yaml": "1"}

    def test_a_name_that_differs_in_case_alone_is_the_same_file_on_some_systems(self) -> None:
        self.put("eu-1/cert-manager/ONE.yaml", "theirs")
        failed = self.delivery.deliver([parcel(A, one="1")], [], NOTE)[A]
        assert failed.message == "eu-1/cert-manager/ONE.yaml is there already, and not from Fleetform"
        assert self.delivery.deliver([parcel(B, ONE="1")], [], NOTE) == {}
        assert self.delivery.deliver([parcel(B, one="2")], [], NOTE) == {}, "what is ours may be renamed"

    def test_a_removed_plugin_leaves_only_what_is_not_ours(self) -> None:
        self.delivery.deliver([parcel(A, one="1"), parcel(B, one="1")], [], NOTE)
        self.put("eu-2/cert-manager/theirs.yaml", "theirs")
        assert self.delivery.deliver([], [A, B], NOTE) == {}
        assert self.seen() == {"eu-2/cert-manager/theirs.yaml": "theirs"}
        assert self.delivery.deliver([], [A, B], NOTE) == {}

    def test_a_folder_of_another_organization_is_refused(self) -> None:
        self.delivery.deliver([parcel(A, one="1")], [], NOTE)
        other: PluginKey = ("zeta", *A[1:])
        failed = self.delivery.deliver([parcel(other, one="2")], [other], NOTE)
        assert failed[other].message == "eu-1/cert-manager holds what was delivered for acme/eu-1/cert-manager"
        assert failed[other].refused
        assert self.seen() == {"eu-1/cert-manager/one.yaml": "1"}

    def test_drift_is_what_somebody_changed_or_took_away(self) -> None:
        self.delivery.deliver([parcel(A, one="1", two="2", three="3"), parcel(B, one="1")], [], NOTE)
        assert self.delivery.drift([A, B]) == []
        self.put("eu-1/cert-manager/one.yaml", "edited")
        self.take("eu-1/cert-manager/two.yaml")
        assert [(each.file, each.missing) for each in self.delivery.drift([A, B])] == [
            ("one.yaml", False),
            ("two.yaml", True),
        ]
        never: PluginKey = ("acme", "eu-9", "cert-manager")
        assert [(each.file, each.missing) for each in self.delivery.drift([never])] == [(INVENTORY, True)]
        # One that was never delivered hides none of the others.
        assert [each.key for each in self.delivery.drift([never, A, B])] == [never, A, A]

    def test_what_was_delivered_once_and_is_no_longer_part_of_a_plugin_is_no_drift(self) -> None:
        self.delivery.deliver([parcel(A, one="1", two="2")], [], NOTE)
        self.delivery.deliver([parcel(A, two="changed", three="3")], [], NOTE)
        assert self.delivery.drift([A]) == []
        self.put("eu-1/cert-manager/one.yaml", "theirs by now")
        assert self.delivery.drift([A]) == []
        failed = self.delivery.deliver([parcel(A, one="1")], [], NOTE)
        assert failed[A].message == "eu-1/cert-manager/one.yaml is there already, and not from Fleetform"

    def test_delivering_again_mends_drift(self) -> None:
        self.delivery.deliver([parcel(A, one="1", two="2")], [], NOTE)
        self.put("eu-1/cert-manager/one.yaml", "edited")
        self.take("eu-1/cert-manager/two.yaml")
        assert self.delivery.deliver([parcel(A, one="1", two="2")], [], NOTE) == {}
        assert self.seen() == {"eu-1/cert-manager/one.yaml": "1", "eu-1/cert-manager/two.yaml": "2"}

    def test_an_inventory_that_leads_elsewhere_removes_nothing(self) -> None:
        self.put("outside.yaml", "theirs")
        self.put(
            f"eu-1/cert-manager/{INVENTORY}",
            '{"organization":"acme","cluster":"eu-1","plugin":"cert-manager","files":{"../../outside.yaml":"x"}}',
        )
        failed = self.delivery.deliver([parcel(A, one="1")], [B], NOTE)
        assert failed[A].message.endswith(f"eu-1/cert-manager/{INVENTORY} names a file outside its folder")
        assert self.delivery.deliver([], [A], NOTE)[A].refused
        assert self.seen() == {"outside.yaml": "theirs"}

    @pytest.mark.parametrize("name", ["..", ".", "a/b", "UPPER", "ünï", "x" * 300, "-"])
    def test_names_that_cannot_be_folders_get_one_of_their_own(self, name: str) -> None:
        odd: PluginKey = ("acme", name, name)
        assert self.delivery.deliver([parcel(odd, one="1")], [], NOTE) == {}
        [path] = self.seen()
        folders = path.split("/")
        assert len(folders) == 3
        assert not any(each.startswith(".") or len(each) > 220 for each in folders)
        self.delivery.deliver([], [odd], NOTE)
        assert self.seen() == {}
