"""The main job on a real local cluster for a person to watch: `make demo-kafka`.

Five brokers and a controller, a process each; a producer with acks=all writes all the time; in the middle of the copy
one broker is killed and stays dead. At the end Kafka's own tool says where the replicas are.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.commandline import environment
from tests.kafka.harness.clients import create_topic, fill
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.load import ProducerLoad
from tests.kafka.harness.tools import run_tool

PLACEMENT = """\
version: 1
assignments:
  orders:
    partitions:
      0: [4, 2, 5]       # two replicas move
      1: [4, 1]          # one moves, one goes
      2: [1, 2, 5]       # one moves, away from broker 3
throttles:
  moves: {rate: 10MB/s}
"""


def say(text: str) -> None:
    """Tell what comes next."""
    sys.stdout.write(f"\n# {text}\n")
    sys.stdout.flush()


def command(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Show a command and start it on this terminal."""
    shown = " ".join(a for a in arguments if "127.0.0.1" not in a).replace("--bootstrap-server", "")
    say(f"$ replan {shown.strip()}")
    return subprocess.Popen(
        [sys.executable, "-m", "replan", *arguments],
        cwd=folder,
        env=environment(XDG_STATE_HOME=str(folder)),
    )


def replan(folder: Path, *arguments: str, wanted: int) -> None:
    """Run a command to its end, and check that it ends as announced."""
    code = command(folder, *arguments).wait()
    sys.stdout.write(f"(exit {code})\n")
    if code != wanted:
        sys.exit(f"the demo expected exit {wanted}")


def story(cluster: Cluster, folder: Path) -> None:
    """Plan, apply with a broker dying in the middle, drift."""
    real = ("--bootstrap-server", cluster.bootstrap)
    (folder / "placement.yaml").write_text(PLACEMENT)
    say("What is declared:")
    sys.stdout.write(PLACEMENT)
    replan(folder, "plan", *real, "-o", "plan.json", wanted=2)
    with ProducerLoad(cluster.bootstrap, "orders") as load:
        running = command(folder, "apply", "plan.json", "--settle", "6", *real)
        try:
            running.wait(timeout=6)
        except subprocess.TimeoutExpired:
            say("Broker 3 is killed now, and stays dead:")
            cluster.kill(3)
        code = running.wait()
        account = load.close()
    sys.stdout.write(f"(exit {code})\n")
    if code not in (0, 4):
        sys.exit("the demo expected the moves to be done")
    say(
        f"Meanwhile {account.acknowledged:,} records were acknowledged by all in-sync replicas, "
        f"{len(account.errors)} failed; the longest wait was {account.longest_wait_seconds:.1f} s."
    )
    replan(folder, "plan", *real, wanted=0)
    replan(folder, "drift", *real, wanted=0)
    say("$ kafka-topics --describe --topic orders")
    sys.stdout.write(
        run_tool(cluster.ground.kafka, "kafka-topics", *real, "--describe", "--topic", "orders")
    )
    if account.errors:
        sys.exit("the demo expected no produce error")
    left = "puts its throttle rate back, too" if code == 4 else "finds nothing left to do"
    say(f"Broker 3 is back; the same command once more {left}:")
    cluster.start(3)
    replan(folder, "apply", "plan.json", *real, wanted=0)


def main() -> None:
    """Start the cluster, tell the story, end everything."""
    say("Five brokers on three racks start, and 60 MB are written to each of three partitions.")
    with Cluster(Layout()) as cluster, tempfile.TemporaryDirectory(prefix="replan-demo-") as folder:
        create_topic(cluster.bootstrap, "orders", [[1, 2, 3], [3, 1, 2], [1, 3, 2]])
        fill(cluster.bootstrap, "orders", 60_000_000)
        story(cluster, Path(folder))


if __name__ == "__main__":
    main()
