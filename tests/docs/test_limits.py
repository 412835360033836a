"""docs/limits.md says what the code refuses and which versions it was tested against."""

import re

from tests.docs.pages import DOCS, check_section
from tests.kafka.harness.distribution import VERSIONS

from replan.kafka.api import PASSWORD_MECHANISMS
from replan.simulator.api import RULES

KAFKA = """\
| | |
| --- | --- |
| versions | {first} to {last}; each has its own rules in the simulator |
| tested against | real controllers and brokers of {tested} |

KRaft only; ZooKeeper is not supported. Managed services that forbid AlterPartitionReassignments or
IncrementalAlterConfigs on brokers cannot be changed; reading them works where their ACLs let it. Sizes come from
DescribeLogDirs: a broker that does not answer it leaves sizes unknown, and the rehearsal without them.
"""


def test_the_versions_are_those_of_the_simulator_and_of_the_tests() -> None:
    first, *_, last = RULES
    text = KAFKA.format(
        first=first, last=last, tested=" and ".join((", ".join(VERSIONS[:-1]), VERSIONS[-1]))
    )
    check_section("limits.md", "## Kafka", text)
    for page in (DOCS.parent / "README.md", DOCS / "scenarios.md"):
        assert f"{first} to {last}" in page.read_text(encoding="utf-8"), page.name


def test_the_comparison_says_of_when_it_is_and_names_a_version_that_is_tested() -> None:
    text = (DOCS / "coming-from.md").read_text(encoding="utf-8")
    dated = re.search(
        r"^Compared in [A-Z][a-z]+ 20\d\d: Apache Kafka ([\d.]+),", text, re.MULTILINE
    )
    assert dated is not None
    assert dated[1] in VERSIONS


def test_every_mechanism_that_the_adapter_maps_is_named() -> None:
    text = (DOCS / "limits.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in (*PASSWORD_MECHANISMS, "OAUTHBEARER", "GSSAPI"))
