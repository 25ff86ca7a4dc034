import pytest
from callgraph.call_samples import SAMPLES, CallSample
from callgraph.world import World, names_in
from codekernel.callgraph.languages import LANGUAGES

ALL = {sample.language: sample for sample in SAMPLES}


def put(world: World, sample: CallSample) -> None:
    for path, text in sample.files.items():
        world.put(path, text)
    world.index()


def last(names: dict[str, str]) -> set[str]:
    return {name.rpartition(".")[2].lower() for name in names}


def test_every_language_with_a_table_has_a_sample() -> None:
    assert set(ALL) | {"jsx"} == set(LANGUAGES)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_what_a_method_calls_is_found_in_its_class_its_fields_and_other_files(
    world: World, sample: CallSample
) -> None:
    put(world, sample)
    sell = "Sell" if sample.language == "csharp" else "sell"
    found = world.callees(sell)
    certain = {name for name, certainty in found.items() if certainty == "certain"}
    if sample.language in {"c", "cpp", "ruby", "php", "rust", "swift", "csharp"}:
        # Nothing says in these languages which file a bare name is of.
        certain |= {name for name, certainty in found.items() if certainty == "likely"}
    assert sample.surely <= certain
    assert "possible" not in found.values()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_whoever_calls_a_function_of_another_file_is_its_caller(
    world: World, sample: CallSample
) -> None:
    put(world, sample)
    tax = "Tax" if sample.language == "csharp" else "tax"
    assert last(world.callers(tax)) == {"sell", "rate"}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_two_functions_that_call_each_other_end_in_no_circle(
    world: World, sample: CallSample
) -> None:
    put(world, sample)
    tax = "Tax" if sample.language == "csharp" else "tax"
    steps = world.only(tax, "callees", depth=9).callees
    assert steps is not None
    (rate,) = steps.steps
    assert last(names_in(rate.next)) == {"tax"}
    assert rate.next.steps[0].again


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_what_the_language_brings_along_is_said_to_be_outside(
    world: World, sample: CallSample
) -> None:
    put(world, sample)
    sell = "Sell" if sample.language == "csharp" else "sell"
    steps = world.only(sell, "callees").callees
    assert steps is not None
    assert not set(steps.outside) & {"tax", "price", "take", "send", "Tax", "Take", "Send"}
