from codekernel.domain.concurrency import CancelToken


def test_a_child_is_cancelled_with_its_parent_and_alone_without_it() -> None:
    parent = CancelToken()
    one, two = parent.create_child(), parent.create_child()
    one.cancel()
    assert (parent.is_cancelled, one.is_cancelled, two.is_cancelled) == (False, True, False)
    grandchild = two.create_child()
    parent.cancel()
    assert two.is_cancelled
    assert grandchild.is_cancelled
    assert parent.create_child().is_cancelled


def test_a_parent_does_not_keep_its_children_alive() -> None:
    parent = CancelToken()
    for _ in range(100):
        parent.create_child()
    assert len(parent._children) == 0


def test_who_cannot_look_is_told_of_a_cancel_within_the_block_and_not_after_it() -> None:
    token, heard = CancelToken(), list[str]()
    with token.on_cancel(lambda: heard.append("before")):
        pass
    with token.on_cancel(lambda: heard.append("within")):
        token.cancel()
    with token.on_cancel(lambda: heard.append("too late")):
        assert heard == ["within", "too late"]
    token.cancel()
    assert heard == ["within", "too late"]


def test_a_cancelled_parent_tells_those_of_its_children() -> None:
    parent, heard = CancelToken(), list[str]()
    child = parent.create_child()
    with child.on_cancel(lambda: heard.append("told")):
        parent.cancel()
    assert heard == ["told"]
