"""Programs run within bounds, and see nothing of ours."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from fleetform.outside.processes import (
    Limits,
    OutOfMemoryError,
    ProgramNotFoundError,
    Programs,
    StoppedError,
    TooMuchOutputError,
    TooSlowError,
)
from support.kit import write_files

SMALL = Limits(seconds=20, memory=300_000_000, output=1_000_000)


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def is_alive(number: int) -> bool:
    """Whether a process is there and does something."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def is_gone_soon(number: int) -> bool:
    end = time.monotonic() + 5
    while is_alive(number) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_alive(number)


def number_in(file: Path) -> int:
    """The number that a process writes into a file, sooner or later."""
    end = time.monotonic() + 10
    while not (file.exists() and file.read_text().strip()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return int(file.read_text())


def test_a_program_gets_its_input_and_gives_its_outputs_and_its_code() -> None:
    code = "import sys; data = sys.stdin.read(); print(len(data)); print('no', file=sys.stderr); sys.exit(3)"
    done = Programs(SMALL).run(python(code), b"x" * 900_000)
    assert done == (3, b"900000\n", b"no\n")


def test_a_program_that_reads_nothing_of_its_input_is_no_trouble() -> None:
    assert Programs(SMALL).run(python("print('done')"), b"x" * 900_000) == (0, b"done\n", b"")


def test_much_goes_in_and_out_at_the_same_time() -> None:
    code = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line)"
    text = b"some line\n" * 90_000
    assert Programs(SMALL).run(python(code), text).stdout == text


@pytest.mark.rule("B20")
def test_the_environment_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = ("KUBECONFIG", "HELM_DRIVER", "HTTPS_PROXY", "https_proxy", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH")
    for name in ours:
        monkeypatch.setenv(name, "secret")
    done = Programs(SMALL).run(["env"])
    names = {line.partition("=")[0]: line.partition("=")[2] for line in done.stdout.decode().splitlines()}
    homes = {"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR"}
    assert names.keys() - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "LANG", *homes}
    assert "secret" not in done.stdout.decode()
    assert {names[home] for home in homes} == {names["HOME"]}
    assert not os.path.exists(names["HOME"])


@pytest.mark.rule("B20")
def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    file = tmp_path / "number"
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen(['sleep', '300'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\n"
        "time.sleep(300)"
    )
    with pytest.raises(TooSlowError, match=r"^python\S* took longer than 1 s$"):
        Programs(Limits(seconds=1)).run(python(code, str(file)))
    assert is_gone_soon(number_in(file))


@pytest.mark.rule("B20")
def test_what_a_program_leaves_behind_is_ended_too(tmp_path: Path) -> None:
    file = tmp_path / "number"
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '300'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\n"
    )
    assert Programs(SMALL).run(python(code, str(file))).code == 0
    assert is_gone_soon(number_in(file))


def test_a_program_that_says_nothing_more_and_does_not_end_is_too_slow() -> None:
    code = "import os, time; os.close(1); os.close(2); os.close(0); time.sleep(300)"
    with pytest.raises(TooSlowError):
        Programs(Limits(seconds=1)).run(python(code))


@pytest.mark.rule("B20")
@pytest.mark.parametrize("output", ["stdout", "stderr"])
def test_a_program_that_prints_too_much_is_ended(output: str) -> None:
    code = f"import sys\nwhile True: sys.{output}.write('x' * 10_000)"
    with pytest.raises(TooMuchOutputError, match=r"printed more than 1 MB$"):
        Programs(SMALL).run(python(code))


@pytest.mark.rule("B20")
def test_a_program_that_takes_too_much_memory_is_told_so() -> None:
    with pytest.raises(OutOfMemoryError, match=r"ran out of memory \(300 MB\)$"):
        Programs(SMALL).run(python("x = bytearray(1_000_000_000)"))
    assert Programs(SMALL).run(python("x = bytearray(100_000_000)")).code == 0


def test_a_program_that_somebody_kills_ran_out_of_memory() -> None:
    with pytest.raises(OutOfMemoryError):
        Programs(SMALL).run(python(f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})"))


def test_a_program_that_speaks_of_memory_and_fails_is_no_such_thing() -> None:
    code = "import sys; sys.exit('Error: the setting out of memory is not known')"
    assert Programs(SMALL).run(python(code)).code == 1


@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program", "/etc/passwd"])
def test_a_program_that_is_not_there(name: str) -> None:
    with pytest.raises(ProgramNotFoundError, match=f"there is no program {name}"):
        Programs(SMALL).run([name])


def test_a_relative_program_is_found_from_where_we_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"bin/hello": "#!/bin/sh\necho hello\n"})
    (tmp_path / "bin/hello").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert Programs(SMALL).run(["bin/hello"]).stdout == b"hello\n"


def test_stopping_ends_what_runs_and_starts_nothing_more(tmp_path: Path) -> None:
    programs, file, met = Programs(SMALL), tmp_path / "number", list[BaseException]()
    code = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(300)"

    def work() -> None:
        try:
            programs.run(python(code, str(file)))
        except StoppedError as error:
            met.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    number = number_in(file)
    programs.stop()
    thread.join(timeout=10)
    assert (len(met), is_gone_soon(number)) == (1, True)
    with pytest.raises(StoppedError):
        programs.run(["true"])
