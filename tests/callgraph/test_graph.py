from callgraph.world import World


def test_only_so_many_callers_are_shown_and_the_rest_is_counted(world: World) -> None:
    callers = "".join(f"def caller{number}():\n    f()\n\n" for number in range(25))
    world.write(a__py=f"def f(): pass\n\n{callers}")
    steps = world.only("f", "callers").callers
    assert steps is not None
    assert (len(steps.steps), steps.more) == (20, 5)


def test_only_so_many_callees_are_shown_and_the_rest_is_counted(world: World) -> None:
    names = [f"callee{number}" for number in range(37)]
    defined = "".join(f"def {name}(): pass\n\n" for name in names)
    calls = "".join(f"    {name}()\n" for name in names)
    world.write(a__py=f"{defined}def f():\n{calls}")
    steps = world.only("f", "callees").callees
    assert steps is not None
    assert (len(steps.steps), steps.more) == (30, 7)


def test_a_deep_chain_is_followed_to_the_depth_that_was_asked_for(world: World) -> None:
    world.write(
        a__py="".join(f"def f{n}():\n    f{n + 1}()\n\n" for n in range(6)) + "def f6(): pass\n"
    )
    steps = world.only("f0", "callees", depth=4).callees
    names = []
    while steps is not None and steps.steps:
        names.append(steps.steps[0].place.name)
        steps = steps.steps[0].next
    assert names == ["f1", "f2", "f3", "f4"]


def test_lines_count_from_one_and_the_source_is_that_of_the_definition(world: World) -> None:
    world.write(a__py="X = 1\n\n\ndef f():\n    g()\n    g()\n\n\ndef g():\n    return X\n")
    (chain,) = world.ask("f", "callees", with_source=True).chains
    assert (chain.place.first_line, chain.place.last_line) == (4, 6)
    assert chain.place.source == "def f():\n    g()\n    g()"
    assert chain.callees is not None
    assert chain.callees.steps[0].lines == (5, 6)
    assert chain.callees.steps[0].place.source == "def g():\n    return X"


def test_a_name_that_is_only_called_is_said_to_be_from_elsewhere(world: World) -> None:
    world.write(a__py="import numpy\n\ndef f():\n    numpy.zeros(3)\n")
    answer = world.ask("zeros")
    assert answer.chains == ()
    assert answer.calling_files == 1


def test_broken_and_empty_files_are_borne(world: World) -> None:
    world.write(
        a__py="def f(:\n  ((((\nclass\n f(\n",
        b__py="",
        c__ts="export class { {{{ ]] f( =>",
        d__rs="fn f() { f(; }}}",
        e__py="def ok():\n    f\u00fcr_alle('\u4f60')\n\ndef f\u00fcr_alle(x): pass\n",
    )
    assert world.callers("f\u00fcr_alle") == {"ok": "certain"}
