"""The form of the application in a snapshot that was open when it was taken. Few snapshots have any."""

from replan.documents.forms import Form, Int32, ReplicaList, Text
from replan.documents.nodes import Node
from replan.documents.typed import typed
from replan.model.names import TopicPartition
from replan.model.snapshot import OwnApplication


class TargetForm(Form, frozen=True):
    """Where one partition is moved to."""

    topic: Text
    partition: Int32
    replicas: ReplicaList


class ApplicationForm(Form, frozen=True):
    """The application."""

    id: Text
    owner: str
    at_work: bool
    targets: tuple[TargetForm, ...]


def write_application(application: OwnApplication) -> dict[str, object]:
    """As a document has it; targets by partition."""
    return {
        "id": application.id,
        "owner": application.owner,
        "atWork": application.at_work,
        "targets": [
            {"topic": name.topic, "partition": name.partition, "replicas": list(target)}
            for name, target in sorted(application.targets.items())
        ],
    }


def read_application(node: Node) -> OwnApplication:
    """What is under the key `application`; raises BadFile with the place of what is wrong."""
    form = typed(node.value, ApplicationForm, node.source, "$.application")
    return OwnApplication(
        form.id,
        form.owner,
        form.at_work,
        {TopicPartition(t.topic, t.partition): t.replicas for t in form.targets},
    )
