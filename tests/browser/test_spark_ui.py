"""docs/pictures/spark-ui.png: what Spark's own pages show of a run of the demo, by its history server.

`REPLAN_REWRITE=1 pytest -m browser tests/browser/test_spark_ui.py` takes it again.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyspark
import pytest
from tests.browser.tools import chromium, node
from tests.commandline import environment, start
from tests.docs.pages import DOCS, TOP

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]
CLUSTERS = 19
"""Those of the demo that answer."""
MAKE = "import sys, pathlib, demo_fleet as d; h = pathlib.Path(sys.argv[1]); d.make_fleet(h); d.at(h, d.LATER)"
SERVER = "org.apache.spark.deploy.history.HistoryServer"
WIDE = {"width": 1100, "height": 600}


def test_the_picture_of_a_run_in_spark_shows_a_task_and_a_row_of_each_cluster(
    tmp_path: Path,
) -> None:
    home, events = tmp_path / "demo", tmp_path / "events"
    home.mkdir()
    events.mkdir()
    settings = f"spark.eventLog.enabled true\nspark.eventLog.dir {events.as_uri()}\n"
    (tmp_path / "spark-defaults.conf").write_text(settings, encoding="utf-8")
    examples = {"PYTHONPATH": os.pathsep.join(map(str, (TOP / "examples", TOP / "cli")))}
    subprocess.run([sys.executable, "-c", MAKE, home], env=environment(**examples), check=True)
    run = ("fleet", "run", "--engine", "spark")
    running = start(run, folder=home, SPARK_CONF_DIR=str(tmp_path))
    said = running.communicate()
    assert running.returncode == 1, said  # one of the clusters does not answer
    picture = DOCS / "pictures" / "spark-ui.png"
    steps = [["await", "text=MapInArrow >> nth=0"], ["click", "input[type=checkbox] >> nth=0"]]
    steps.append(["text", "body"])
    if "REPLAN_REWRITE" in os.environ:
        steps.append(["shot", str(picture)])
    with history_server(events) as server:
        name = the_run(server)
        stages = asked(f"{server}/api/v1/applications/{name}/stages")
        view = {"viewport": WIDE, "colorScheme": "light", "steps": steps}
        page = f"{server}/history/{name}/SQL/execution/?id=0"
        (text,) = json.loads(node("page.mjs", page, chromium(), json.dumps(view)))["found"]
    assert [s["numCompleteTasks"] for s in stages if s["stageId"] == 0] == [CLUSTERS]
    *_, judged, scan = text.replace("LocalTableScan", "MapInArrow").split("MapInArrow")
    assert all(f"number of output rows: {CLUSTERS}" in part for part in (judged, scan)), text
    assert "stage 0.0: task" in judged, text
    assert str(TOP) not in text, text
    assert picture.read_bytes().startswith(b"\x89PNG")


@contextmanager
def history_server(events: Path) -> Iterator[str]:
    """Its address, as long as it is asked for."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    options = {"fs.logDirectory": events.as_uri(), "ui.port": port, "fs.update.interval": "1s"}
    words = [f"-Dspark.history.{name}={value}" for name, value in options.items()]
    server = subprocess.Popen(
        ["java", *words, "-cp", f"{home}/jars/*", SERVER],
        env=environment(SPARK_HOME=str(home), SPARK_LOCAL_IP="127.0.0.1"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def the_run(server: str) -> str:
    """The name of the run, once the server has read its log."""
    for _ in range(300):
        try:
            found = asked(f"{server}/api/v1/applications?status=completed")
        except OSError:
            found = []
        if found:
            return str(found[0]["id"])
        time.sleep(1)
    raise AssertionError("the history server does not know the run")


def asked(address: str) -> Any:
    with urlopen(address) as answer:  # noqa: S310
        return json.load(answer)
