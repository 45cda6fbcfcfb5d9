"""Records that several threads read for the first time, all at once."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

_CHILD = dedent(
    """
    import sys
    from threading import Barrier, Thread
    import msgspec
    from fleetform.outside.kubernetes.decoders import list_decoder
    from fleetform.outside.records import prepare_records

    sys.setswitchinterval(1e-6)
    inner_fields = [(f"f{n}", dict[str, list[int]] | None, None) for n in range(12)]
    inner = [msgspec.defstruct(f"Inner{n}", inner_fields) for n in range(200)]
    outer = [msgspec.defstruct("Outer", [(f"g{n}", each | None, None) for n in range(8)]) for each in inner]
    prepare_records()

    def read(type_, together):
        together.wait()
        msgspec.json.decode(b'{"g7": {"f11": {"a": [1]}}}', type=type_)
        assert list_decoder(type_).decode(b'{"metadata": {}, "items": [{}]}').items

    for each in outer:
        together = Barrier(6)
        threads = [Thread(target=read, args=(each, together)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """
)


def test_records_that_were_prepared_can_be_read_by_any_number_of_threads() -> None:
    """Without that the process ends with a segmentation fault, nearly always."""
    done = subprocess.run([sys.executable, "-c", _CHILD], check=False, timeout=120)
    assert done.returncode == 0
