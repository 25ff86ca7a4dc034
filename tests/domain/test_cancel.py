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
