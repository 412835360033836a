"""A small cluster that faults are read against, and a fault of each form."""

from tests.builders import brokers, snapshot, state

from replan.faults.api import FaultContext
from replan.model.api import BrokerId, LogDir, TopicId
from replan.rehearsal.api import cluster_of

CONTEXT = FaultContext(
    cluster_of(
        snapshot(
            [state([1, 2, 3]), state([2, 3, 1], partition=1)],
            registered=brokers(5, "abc"),
            log_dirs=(LogDir(BrokerId(1), "a"), LogDir(BrokerId(1), "b")),
        )
    ).cluster,
    lambda topic: TopicId(f"another-{topic}"),
)
SAMPLES = """\
kill 3 for 20s
kill rack a for 20s
stop 2 for 20s
start 3
restart 1 for 15s
slow 4 to 1MB/s for 30s
unresponsive 4 to changes for 20s
fence 3 for 10s
unfence 3
cordon 3 for 10s
uncordon 3
lose disk 1 b for 20s
replace disks 3
unregister 3
lag orders-0 broker 2 by 100MB
flap orders-0 broker 2 every 10s for 20s
produce orders-0 2MB/s
rebalance
unknown outcome of 2 reassign without effect
repeated elect
controller moves with effect
looks take 6s for 1m
forbid describe on topic orders for 30s
silence for 10s
metadata 8s behind for 30s
foreign reassign orders-0 [1,2,5]
foreign cancel orders-0
foreign elect preferred orders-0
foreign config broker 3 set leader.replication.throttled.rate 1000000
foreign min-isr orders 3
foreign delete-topic orders
foreign recreate-topic orders [3,4]
foreign add-partitions orders [2,3,4] [4,5,1]
""".splitlines()
