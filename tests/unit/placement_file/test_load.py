from pathlib import Path

import pytest

from replan.errors import BadPlacement
from replan.model.api import (
    EXPLICIT_SCHEMA,
    BrokerId,
    LeaderBlacklist,
    MoveThrottle,
    Placement,
    PreferredLeader,
    SideRates,
    TopicEntry,
    TopicPartition,
    Where,
    as_list_array,
)
from replan.placement_file.api import Source, fastest_parser, load_placement, load_sources

WHOLE = """\
version: 1
cluster: {name: payments-eu, id: MkU3OEVBNTcwNTJENDM2Qg}
assignments:
  orders:
    partitions: {1: [2, 3, 1], 0: [1, 2, 3]}
  clicks:
    partitions:
      - [3, 1]
      - [1, 3]
    belowMinIsr: true
preferredLeaders:
  orders: {1: 3, 0: 2}
blacklists:
  leaders:
    - {broker: 9}
    - broker: 7
      reason: disk at 92 %
      owner: storage
      reviewBy: 2026-12-01T18:00:00+02:00
      topics: [pay-*, orders, orders]
throttles:
  moves: {rate: 50MB/s, brokers: {4: unlimited, 3: 20MB/s}}
"""


def load(*texts: str) -> Placement:
    sources = [Source(f"{'abc'[i]}.yaml", text) for i, text in enumerate(texts)]
    return load_sources(sources, fastest_parser())


def at(line: int, column: int, file: str = "a.yaml") -> Where:
    return Where(file, line, column)


def test_every_part_of_a_placement_file_arrives_with_its_place() -> None:
    placement = load(WHOLE)
    assert placement.cluster_name == "payments-eu"
    assert placement.cluster_id == "MkU3OEVBNTcwNTJENDM2Qg"
    assert dict(placement.topics) == {
        "clicks": TopicEntry(at(6, 3), 2, below_min_isr=True),
        "orders": TopicEntry(at(4, 3), None),
    }
    assert dict(placement.preferred_leaders) == {
        TopicPartition("orders", 0): PreferredLeader(BrokerId(2), at(12, 21)),
        TopicPartition("orders", 1): PreferredLeader(BrokerId(3), at(12, 15)),
    }
    assert placement.leader_blacklist == (
        LeaderBlacklist(
            BrokerId(7), at(16, 7), "disk at 92 %", "storage", "2026-12-01T16:00:00Z", ("orders", "pay-*")
        ),
        LeaderBlacklist(BrokerId(9), at(15, 7)),
    )  # fmt: skip
    assert placement.move_throttle == MoveThrottle(
        50_000_000, {BrokerId(3): 20_000_000, BrokerId(4): None}
    )
    assert placement.throttle_places == {BrokerId(3): at(22, 52), BrokerId(4): at(22, 38)}


def test_rows_are_sorted_columns_with_the_place_of_each_list() -> None:
    explicit = load(WHOLE).explicit
    assert explicit.schema == EXPLICIT_SCHEMA
    assert explicit.to_pylist() == [
        {"topic": "clicks", "partition": 0, "replicas": [3, 1], "line": 8, "column": 9},
        {"topic": "clicks", "partition": 1, "replicas": [1, 3], "line": 9, "column": 9},
        {"topic": "orders", "partition": 0, "replicas": [1, 2, 3], "line": 5, "column": 35},
        {"topic": "orders", "partition": 1, "replicas": [2, 3, 1], "line": 5, "column": 21},
    ]
    assert explicit.column("topic").combine_chunks().dictionary.to_pylist() == ["clicks", "orders"]


def test_a_placement_file_without_rows_has_empty_columns() -> None:
    placement = load("version: 1\n")
    assert placement.explicit.schema == EXPLICIT_SCHEMA
    assert placement.explicit.num_rows == 0
    assert placement.topics == {}
    assert placement.move_throttle is None


def test_each_row_knows_its_line_in_its_own_file() -> None:
    first = "version: 1\nassignments:\n  b: {partitions: [[1]]}\n"
    second = "version: 1\n\n\nassignments: {a: {partitions: [[2]]}}\n"
    placement = load(first, second)
    rows = placement.explicit.to_pylist()
    assert [(r["topic"], r["line"], r["column"]) for r in rows] == [("a", 4, 32), ("b", 3, 20)]
    assert [t.where.file for t in placement.topics.values()] == ["b.yaml", "a.yaml"]


def test_block_style_rows_stand_where_their_first_broker_does() -> None:
    text = "version: 1\nassignments:\n  a:\n    partitions:\n      0:\n        - 2\n        - 1\n"
    assert load(text).explicit.select(["line", "column"]).to_pylist() == [{"line": 6, "column": 9}]


def test_a_folder_and_a_file_are_merged(tmp_path: Path) -> None:
    folder = tmp_path / "topics"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / f"{name}.yaml").write_text(
            f"version: 1\nassignments: {{{name}: {{partitions: [[1]]}}}}\n"
        )
    (tmp_path / "throttle.yaml").write_text("version: 1\nthrottles: {moves: {rate: 1MB/s}}\n")
    placement = load_placement([tmp_path / "throttle.yaml", folder])
    assert list(placement.topics) == ["a", "b"]
    assert placement.move_throttle == MoveThrottle(1_000_000)


def test_a_side_that_is_left_out_has_the_rate_of_all_brokers() -> None:
    brokers = "1: {leader: 20MB/s, follower: unlimited}, 2: {leader: 20MB/s}, 3: {follower: 50MB/s}"
    placement = load(
        f"version: 1\nthrottles: {{moves: {{rate: 50MB/s, brokers: {{{brokers}}}}}}}\n"
    )
    mb = 1_000_000
    assert placement.move_throttle == MoveThrottle(
        50 * mb,
        {
            BrokerId(1): SideRates(20 * mb, None),
            BrokerId(2): SideRates(20 * mb, 50 * mb),
            BrokerId(3): 50 * mb,
        },
    )


def test_reasons_and_flags_are_part_of_the_meaning_and_places_are_not() -> None:
    digests = {
        load(text).digest
        for text in (
            WHOLE,
            WHOLE.replace("92", "93"),
            WHOLE.replace("storage", "network"),
            WHOLE.replace("    belowMinIsr: true\n", ""),
            WHOLE.replace("[1, 2, 3]", "[1, 3, 2]"),
            WHOLE.replace("payments-eu", "payments-us"),
            WHOLE.replace("20MB/s", "21MB/s"),
            WHOLE.replace("1: 3, 0: 2", "0: 2"),
        )
    }
    assert len(digests) == 8
    assert load("\n\n# moved down\n" + WHOLE).digest == load(WHOLE).digest
    assert load(WHOLE.replace("20MB/s", "20000KB/s")).digest == load(WHOLE).digest


def test_the_digest_of_a_meaning_does_not_change_between_releases() -> None:
    assert load(WHOLE).digest == "c6a09d59a41b9d8f1a134f61c685b43a86aa3bc72dd690340fd4f137f650f98b"


def test_list_form_and_map_form_of_the_same_rows_differ_in_what_they_declare() -> None:
    as_list = load("version: 1\nassignments: {a: {partitions: [[1]]}}\n")
    as_map = load("version: 1\nassignments: {a: {partitions: {0: [1]}}}\n")
    assert as_list.digest != as_map.digest
    assert as_list_array(as_list.explicit["replicas"]) == as_list_array(as_map.explicit["replicas"])


def test_beyond_twenty_problems_only_their_number_is_reported() -> None:
    rows = "".join(f"      {i}: []\n" for i in range(100))
    with pytest.raises(BadPlacement) as refused:
        load("version: 1\nassignments:\n  a:\n    partitions:\n" + rows)
    lines = str(refused.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 80 more problems; repair these first"
