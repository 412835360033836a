"""The one writer of JSON documents: which values it takes, and as what."""

import json

import pytest

from replan.model.api import BrokerId, ConfigScope, SettingName, Where
from replan.planning.api import BrokerDown
from replan.reporting.api import json_report


def test_a_document_says_first_what_it_is() -> None:
    assert json_report("replan.some", {"of": (1, 2)}, indent=None) == (
        '{"formatVersion": 1, "kind": "replan.some", "of": [1, 2]}\n'
    )


def test_a_value_is_its_fields_as_documents_name_them_and_a_place_its_text() -> None:
    document = json.loads(
        json_report(
            "replan.some",
            {
                "down": [BrokerDown(BrokerId(4), False, 3, 2, 1)],
                "setting": SettingName(ConfigScope.TOPIC, "orders", "k"),
                "where": Where("a.yaml", 3, 5),
            },
        )
    )
    assert document["down"] == [
        {"broker": 4, "registered": False, "replicas": 3, "withoutLeader": 2, "underMinIsr": 1}
    ]
    assert document["setting"] == {"scope": "topic", "name": "orders", "key": "k"}
    assert document["where"] == "a.yaml:3:5"


def test_what_has_no_written_form_is_refused() -> None:
    with pytest.raises(TypeError, match="frozenset"):
        json_report("replan.some", {"of": frozenset({1})})
