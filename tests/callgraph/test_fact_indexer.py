"""The graph is of the files as they are indexed now, whatever it was before."""

import sqlite3
from pathlib import Path

import pytest
from callgraph.world import ENOUGH_SECONDS, World
from codekernel.callgraph.fact_indexer import (
    INDEXED_LANGUAGES,
    FactIndexerLimits,
    FactIndexerProcess,
)
from codekernel.domain.call_graph import CallChainQuery
from codekernel.domain.concurrency import CancelToken
from codekernel.storage.catalog import call_database
from codekernel.storage.catalog.call_database import CALLS_FILE
from support.polling import pause

CRASHING_WORKER = "support.crashing_fact_indexer"


@pytest.fixture(autouse=True)
def _workers_import_test_support(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))


def rows_of(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Everything in a graph, in order."""
    tables = ("source", "facts", "definition", "base", "mention")
    with sqlite3.connect(folder / CALLS_FILE) as database:
        found = {
            table: sorted(database.execute(f"SELECT * FROM {table}").fetchall())  # noqa: S608 - constants
            for table in tables
        }
    database.close()
    return found


def test_a_changed_file_has_its_calls_replaced(world: World) -> None:
    world.write(a__py="def f(): pass\n", b__py="from a import f\n\ndef g():\n    f()\n")
    assert world.callers("f") == {"g": "certain"}
    world.write(b__py="from a import f\n\ndef h():\n    f()\n")
    assert world.callers("f") == {"h": "certain"}


def test_a_renamed_function_is_found_by_its_new_name_only(world: World) -> None:
    world.write(a__py="def f(): pass\n\ndef g():\n    f()\n")
    world.callers("f")
    world.write(a__py="def f2(): pass\n\ndef g():\n    f2()\n")
    assert world.ask("f").chains == ()
    assert world.ask("f").calling_files == 0
    assert world.callers("f2") == {"g": "certain"}


def test_a_renamed_file_keeps_its_calls_under_its_new_path(world: World) -> None:
    world.write(a__py="def f(): pass\n", b__py="from a import f\n\ndef g():\n    f()\n")
    world.callers("f")
    (world.root / "b.py").rename(world.root / "c.py")
    world.index()
    steps = world.only("f", "callers").callers
    assert steps is not None
    assert [step.place.path for step in steps.steps] == ["c.py"]


def test_a_deleted_file_calls_nobody(world: World) -> None:
    world.write(a__py="def f(): pass\n", b__py="from a import f\n\ndef g():\n    f()\n")
    world.callers("f")
    (world.root / "b.py").unlink()
    world.index()
    assert world.callers("f") == {}
    (world.root / "a.py").unlink()
    world.put("c.py", "x = 1\n")
    world.index()
    assert world.ask("f").chains == ()


def test_a_call_that_meant_something_else_means_it_no_more_when_another_file_changes(
    world: World,
) -> None:
    world.write(a__py="def f(): pass\n", b__py="from a import f\n\ndef g():\n    f()\n")
    assert world.callees("g") == {"f": "certain"}
    world.write(a__py="def other(): pass\n")
    assert world.callees("g") == {}


@pytest.mark.slow
def test_many_files_are_read_by_other_processes(world: World) -> None:
    world.reopen(FactIndexerLimits(max_inline_bytes=0))
    world.put("a.py", "def f(): pass\n")
    for number in range(30):
        world.put(f"user{number}.py", f"from a import f\n\ndef g{number}():\n    f()\n")
    world.index()
    steps = world.only("f", "callers").callers
    assert steps is not None
    assert len(steps.steps) + steps.more == 30


def test_where_no_other_process_can_be_started_many_files_are_read_here(world: World) -> None:
    world.reopen(FactIndexerLimits(max_inline_bytes=0, worker_module="no.such.module"))
    world.write(a__py="def f(): pass\n\ndef g():\n    f()\n")
    assert world.callers("f") == {"g": "certain"}


@pytest.mark.slow
def test_a_question_with_little_time_is_answered_from_what_has_been_read(world: World) -> None:
    world.write(a__py="def f(): pass\n\ndef g():\n    f()\n")
    answer = world.graph.ask(CallChainQuery("f"), CancelToken(), ENOUGH_SECONDS)
    assert answer.behind == 0
    for number in range(300):
        world.put(f"more{number}.py", f"def h{number}():\n    pass\n" * 100)
    world.index()
    answer = world.graph.ask(CallChainQuery("f"), CancelToken(), 0.0)
    assert answer.behind == 300
    assert [chain.place.name for chain in answer.chains] == ["f"]


@pytest.mark.slow
def test_a_file_on_which_the_reading_process_dies_is_given_up_and_the_others_are_read(
    world: World,
) -> None:
    world.reopen(FactIndexerLimits(0, 1, CRASHING_WORKER))
    world.write(
        a__py="def f(): pass\n",
        b__py="from a import f\n\ndef good():\n    f()\n",
        c__py="DEADLY = 1\nfrom a import f\n\ndef bad():\n    f()\n",
        d__py="from a import f\n\ndef fine():\n    f()\n",
    )
    assert world.callers("f") == {"good": "certain", "fine": "certain"}


@pytest.mark.slow
def test_whenever_the_reading_is_killed_nothing_of_a_file_is_half_there(
    world: World,
) -> None:
    for number in range(40):
        base = (
            f"from user{number - 1} import C{number - 1}\n\n" if number else "class C:\n    pass\n"
        )
        extends = f"C{number - 1}" if number else "C"
        world.put(
            f"user{number}.py",
            f"{base}class C{number}({extends}):\n    def f{number}(self):\n"
            f"        self.f{max(0, number - 1)}()\n        helper({number})\n",
        )
    world.index()
    for started in (1, 3, 7, 12, 20):
        process = FactIndexerProcess(world.folder, 0, 1, CRASHING_WORKER)
        while process.started_count < started and process.is_alive:
            pause(0.001)
        process.kill()
        database = sqlite3.connect(world.folder / CALLS_FILE)
        read = database.execute("SELECT count(*) FROM source").fetchone()
        for table in ("facts", "(SELECT DISTINCT file FROM definition)"):
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == read  # noqa: S608
        database.close()
    assert world.callers("C20.f20") == {"C21.f21": "certain"}
    whole = rows_of(world.folder)
    world.graph.close()
    (world.folder / CALLS_FILE).unlink()
    world.open_graph()
    world.callers("C20.f20")
    assert rows_of(world.folder) == whole


def test_a_restart_finds_what_was_read_before(tmp_path: Path) -> None:
    first = World(tmp_path)
    first.write(a__py="def f(): pass\n\ndef g():\n    f()\n")
    first.callers("f")
    first.close()
    second = World(tmp_path)
    second.index()
    assert second.graph._reader.list_stale_files(INDEXED_LANGUAGES) == []
    assert second.callers("f") == {"g": "certain"}
    second.close()


@pytest.mark.parametrize("damage", ["garbage", "format", "gone"])
def test_a_graph_that_cannot_be_read_is_made_anew(tmp_path: Path, damage: str) -> None:
    first = World(tmp_path)
    first.write(a__py="def f(): pass\n\ndef g():\n    f()\n")
    first.callers("f")
    first.close()
    path = tmp_path / "index" / CALLS_FILE
    if damage == "garbage":
        path.write_bytes(b"no database" * 1000)
    elif damage == "format":
        with sqlite3.connect(path) as database:
            database.execute(f"PRAGMA user_version = {call_database.CALLS_FORMAT + 1}")
        database.close()
    else:
        path.unlink()
    second = World(tmp_path)
    second.index()
    assert second.callers("f") == {"g": "certain"}
    second.close()


def test_two_who_keep_the_same_graph_agree(tmp_path: Path) -> None:
    """A second process reads the index that the first one writes, and may fill the graph."""
    first = World(tmp_path)
    first.write(a__py="def f(): pass\n\ndef g():\n    f()\n")
    second = World(tmp_path)
    assert second.store.writer is None
    assert second.callers("f") == {"g": "certain"}
    first.write(a__py="def f(): pass\n\ndef h():\n    f()\n")
    assert first.callers("f") == {"h": "certain"}
    assert second.callers("f") == {"h": "certain"}
    second.close()
    first.close()
