"""`plan` asks the cluster whether it would take new partitions, and changes nothing by asking."""

from tests.commands.shell import Shell


def grown(shell: Shell, *lists: list[int]) -> tuple[str, ...]:
    present = "[[1, 2, 3], [3, 1, 2], [1, 3, 2]"
    more = "".join(f", {found}" for found in lists)
    shell.placement.write_text(
        f"version: 1\nassignments: {{orders: {{partitions: {present}{more}]}}}}\n"
    )
    return "plan", "-f", str(shell.placement)


def test_what_kafka_takes_is_not_mentioned_and_not_made(shell: Shell) -> None:
    _, said = shell.on_cluster(*grown(shell, [2, 3, 4]), wanted=2)
    assert "Kafka" not in said
    assert len([s for s in shell.states() if s.partition.topic == "orders"]) == 3


def test_what_passes_by_itself_is_a_note(shell: Shell) -> None:
    """All brokers of the list are being restarted."""
    text = shell.cluster.read_text()
    for broker in (2, 4, 5):
        text = text.replace(f'"id": {broker},', f'"id": {broker}, "fenced": true,')
    shell.cluster.write_text(text)
    _, said = shell.on_cluster(*grown(shell, [2, 4, 5]), wanted=2)
    assert (
        "Kafka for the moment refuses the new partitions of orders: INVALID_REPLICA_ASSIGNMENT"
        in said
    )


def test_a_saved_snapshot_is_asked_nothing(shell: Shell) -> None:
    _, said = shell.run(*grown(shell, [2, 3, 4]), "--snapshot", shell.cluster, wanted=2)
    assert "Kafka" not in said
