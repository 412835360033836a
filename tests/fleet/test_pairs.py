"""Which snapshot is compared with which placement."""

from itertools import permutations

from replan.fleet.tasks.pairs import FleetError, Head, Pair, pair_up


def seen(name: str, cluster: str, at: str = "2026-11-21T03:00:00Z", path: str = "") -> Head:
    return Head("snapshot", name, path or f"s/{name}", cluster, None, at, None)


def placed(name: str, cluster: str | None = None, called: str | None = None) -> Head:
    return Head("placement", name, f"p/{name}.yaml", cluster, called, None, None)


def broken(role: str, name: str) -> Head:
    return Head(role, name, f"{role}/{name}", None, None, None, "torn")


def test_a_placement_belongs_to_the_cluster_whose_id_it_says() -> None:
    found = pair_up([seen("a", "one"), seen("b", "two"), placed("b", cluster="one")])
    assert found.pairs == (Pair("one", "b", "2026-11-21T03:00:00Z", "s/a", "p/b.yaml"),)
    assert found.undeclared == ("b",)


def test_without_an_id_it_belongs_to_the_snapshot_of_its_own_name() -> None:
    found = pair_up([seen("a", "one"), seen("b", "two"), placed("a"), placed("x", called="b")])
    assert [(p.cluster_id, p.cluster_name) for p in found.pairs] == [("one", "a"), ("two", "b")]
    assert (found.errors, found.undeclared) == ((), ())


def test_of_several_snapshots_the_newest_counts_to_the_fraction_of_a_second() -> None:
    heads = [
        seen("a", "one", "2026-11-21T03:00:00Z", "s/3"),
        seen("a", "one", "2026-11-21T03:00:00.25Z", "s/2"),
        seen("a", "one", "2026-11-20T23:59:59Z", "s/1"),
        placed("a"),
    ]
    for order in permutations(heads):
        found = pair_up(order)
        assert [p.snapshot for p in found.pairs] == ["s/2"]
        assert found.older == 2


def test_of_two_equally_old_snapshots_the_last_by_path_counts() -> None:
    for order in permutations([seen("a", "one", path="s/1"), seen("a", "one", path="s/2")]):
        assert [p.snapshot for p in pair_up([*order, placed("a")]).pairs] == ["s/2"]


def test_a_placement_without_a_snapshot_is_an_error() -> None:
    found = pair_up([placed("a"), placed("b", cluster="gone", called="beta")])
    assert found.errors == (
        FleetError(
            "a", "p/a.yaml", "no readable snapshot is named a; name it so, or say `cluster.id`"
        ),
        FleetError("beta", "p/b.yaml", "no readable snapshot of cluster gone"),
    )


def test_a_name_that_two_clusters_have_is_an_error() -> None:
    found = pair_up([seen("a", "one", path="s/1"), seen("a", "two", path="s/2"), placed("a")])
    assert found.pairs == ()
    assert [e.message for e in found.errors] == [
        "snapshots of 2 clusters are named a (one, two); say which one is meant with `cluster.id`"
    ]


def test_two_placements_of_one_cluster_are_both_errors_and_nothing_is_compared() -> None:
    found = pair_up([seen("a", "one"), placed("a"), placed("b", cluster="one")])
    assert found.pairs == ()
    assert [e.message for e in found.errors] == [
        "cluster one has another placement, p/b.yaml; keep one",
        "cluster one has another placement, p/a.yaml; keep one",
    ]


def test_a_source_that_cannot_be_read_is_an_error_and_its_namesake_is_not_called_undeclared() -> (
    None
):
    found = pair_up([seen("a", "one"), broken("placement", "a"), broken("snapshot", "b")])
    assert found.errors == (
        FleetError("a", "placement/a", "torn"),
        FleetError("b", "snapshot/b", "torn"),
    )
    assert found.undeclared == ()
