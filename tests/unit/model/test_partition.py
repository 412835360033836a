import pytest

from replan.model.api import BrokerId, under_min_isr


@pytest.mark.parametrize(
    ("minimum", "isr", "replicas", "is_under"),
    [
        (2, (1, 2, 3), (1, 2, 3), False),
        (2, (1, 2), (1, 2, 3), False),
        (2, (1,), (1, 2, 3), True),
        (2, (1,), (1,), False),
        (2, (), (1,), True),
    ],
)
def test_a_partition_is_under_min_isr_once_less_is_in_sync_than_that_and_than_is_assigned(
    minimum: int, isr: tuple[int, ...], replicas: tuple[int, ...], is_under: bool
) -> None:
    assert under_min_isr(minimum, _brokers(isr), _brokers(replicas)) is is_under


def _brokers(ids: tuple[int, ...]) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, ids))
