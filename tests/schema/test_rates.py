"""The file of produce rates: what its schema accepts is read, what it refuses is named."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from replan.errors import BadFile
from replan.model.api import Rates, TopicPartition
from replan.placement_file.api import read_schema
from replan.snapshots.api import rates_document, rates_with_digest, read_rates

VALIDATOR = Draft202012Validator(read_schema("rates.v1.json"))
HEAD = {"formatVersion": 1, "kind": "replan.rates"}


def written(folder: Path, document: object) -> Path:
    path = folder / "rates.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    rates = rates_with_digest(Rates({TopicPartition("a", 11): 5, TopicPartition("a", 2): 0}, "id"))
    document = rates_document(rates)
    VALIDATOR.validate(document)
    assert read_rates(written(tmp_path, document)) == rates


@pytest.mark.parametrize(
    ("topics", "place"),
    [
        ({"a": {"x": 1}}, "$.topics.a.x"),
        ({"a": {"01": 1}}, "$.topics.a.01"),
        (
            {"a": {"0": 5}, "b.c": {"0": 1, "1": -1}},
            "$.topics.b.c.1: expected a whole number of at",
        ),
        ({"a": {"0": 1}, "b": {"1": True}}, "$.topics.b.1: expected a whole number, found true"),
        ({"a": [1]}, "$.topics.a: expected an object"),
        ({"a": {"0": 2**63}}, "$.topics.a.0: expected a whole number of at most 9"),
        (
            {"a": {str(2**31): 1}},
            "$.topics.a.2147483648: the key is no partition, from 0 to 2,147,483,647",
        ),
        ({"a": {"9" * 5000: 1}}, "9: the key is no partition, from 0 to 2,147,483,647"),
        ({"a": {"0": 1}, "": {"0": 1}}, "$.topics: a topic's name is empty; write one"),
        (["a"], "$.topics"),
    ],
)
def test_what_the_schema_refuses_is_refused_with_its_place(
    tmp_path: Path, topics: object, place: str
) -> None:
    document = {**HEAD, "topics": topics}
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(BadFile) as error:
        read_rates(written(tmp_path, document))
    assert place in str(error.value)


def test_the_largest_numbers_are_read(tmp_path: Path) -> None:
    document = {**HEAD, "topics": {"a": {str(2**31 - 1): 2**63 - 1}}}
    VALIDATOR.validate(document)
    read = read_rates(written(tmp_path, document))
    assert read.bytes_per_second == {TopicPartition("a", 2**31 - 1): 2**63 - 1}


def test_another_document_is_refused(tmp_path: Path) -> None:
    document = {**HEAD, "kind": "replan.plan", "topics": {}}
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(BadFile):
        read_rates(written(tmp_path, document))
