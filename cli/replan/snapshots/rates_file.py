"""Rates on disk: one JSON document, written by hand or by a measurement; its form is schema/rates.v1.json."""

import hashlib
import json
from pathlib import Path
from typing import Literal

from replan.documents.files import read_text
from replan.documents.json_text import parse_document
from replan.documents.typed import Form, Int64, Text, typed
from replan.model.names import LARGEST_ID, TopicPartition, parse_number
from replan.model.rates import Rates

RATES_KIND = "replan.rates"


class RatesForm(Form, frozen=True, kw_only=True):
    """The document."""

    format_version: Literal[1]
    kind: Literal["replan.rates"]
    cluster_id: Text | None = None
    topics: dict[str, dict[str, Int64]]
    """Bytes per second, by topic and partition."""

    def __post_init__(self) -> None:
        if "" in self.topics:
            raise ValueError(".topics: a topic's name is empty; write one")
        for topic, numbers in self.topics.items():
            for key in numbers:
                if parse_number(key) is None:
                    raise ValueError(
                        f".topics.{topic}.{key}: the key is no partition, from 0 to {LARGEST_ID:,}"
                    )


def read_rates(path: Path) -> Rates:
    """Read a file of rates; raises BadFile."""
    form = typed(parse_document(read_text(path), str(path)), RatesForm, str(path))
    bytes_per_second = {
        TopicPartition(topic, int(number)): rate
        for topic, numbers in form.topics.items()
        for number, rate in numbers.items()
    }
    return rates_with_digest(Rates(bytes_per_second, form.cluster_id))


def rates_with_digest(rates: Rates) -> Rates:
    """The same rates with their digest."""
    rows = sorted([*name, rate] for name, rate in rates.bytes_per_second.items())
    text = json.dumps([rates.cluster_id, rows], separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Rates(rates.bytes_per_second, rates.cluster_id, digest)


def rates_document(rates: Rates) -> dict[str, object]:
    """The rates as a JSON document."""
    topics: dict[str, dict[str, int]] = {}
    for name, rate in sorted(rates.bytes_per_second.items()):
        topics.setdefault(name.topic, {})[str(name.partition)] = rate
    cluster = {} if rates.cluster_id is None else {"clusterId": rates.cluster_id}
    return {"formatVersion": 1, "kind": RATES_KIND, **cluster, "topics": topics}
