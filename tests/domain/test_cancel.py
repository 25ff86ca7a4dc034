from kernel.domain.cancel import CancelToken


def test_a_child_is_cancelled_with_its_parent_and_alone_without_it() -> None:
    parent = CancelToken()
    one, two = parent.child(), parent.child()
    one.cancel()
    assert (parent.cancelled, one.cancelled, two.cancelled) == (False, True, False)
    grandchild = two.child()
    parent.cancel()
    assert two.cancelled
    assert grandchild.cancelled
    assert parent.child().cancelled


def test_a_parent_does_not_keep_its_children_alive() -> None:
    parent = CancelToken()
    for _ in range(100):
        parent.child()
    assert len(parent._children) == 0


def test_who_cannot_look_is_told_of_a_cancel_within_the_block_and_not_after_it() -> None:
    token, heard = CancelToken(), list[str]()
    with token.telling(lambda: heard.append("before")):
        pass
    with token.telling(lambda: heard.append("within")):
        token.cancel()
    with token.telling(lambda: heard.append("too late")):
        assert heard == ["within", "too late"]
    token.cancel()
    assert heard == ["within", "too late"]


def test_a_cancelled_parent_tells_those_of_its_children() -> None:
    parent, heard = CancelToken(), list[str]()
    child = parent.child()
    with child.telling(lambda: heard.append("told")):
        parent.cancel()
    assert heard == ["told"]
