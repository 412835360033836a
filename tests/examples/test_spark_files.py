"""examples/spark: the commands that they start are replan's, and the packages and releases are those of this one."""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.commandline import replan

TOP = Path(__file__).parents[2]
SPARK = TOP / "examples" / "spark"
SCRIPTS = ("standalone.sh", "yarn.sh")
MAIN = "replan/__main__.py"


FIELDS: dict[str, list[str]] = yaml.safe_load("""
spec: [schedule, template, suspend, concurrencyPolicy, successfulRunHistoryLimit, failedRunHistoryLimit]
template: [type, sparkVersion, mode, proxyUser, image, imagePullPolicy, imagePullSecrets, mainClass, arguments,
  mainApplicationFile, sparkConf, hadoopConf, sparkConfigMap, hadoopConfigMap, volumes, driver, executor, deps,
  restartPolicy, nodeSelector, failureRetries, retryInterval, pythonVersion, memoryOverheadFactor, monitoring,
  batchScheduler, batchSchedulerOptions, timeToLiveSeconds, sparkUIOptions, driverIngressOptions, dynamicAllocation]
pod: [template, cores, coreLimit, coreRequest, memory, memoryOverhead, gpu, image, configMaps, secrets, env, envVars,
  envFrom, envSecretKeyRefs, labels, annotations, volumeMounts, affinity, tolerations, podSecurityContext,
  securityContext, schedulerName, sidecars, initContainers, hostNetwork, nodeSelector, dnsConfig, serviceAccount,
  terminationGracePeriodSeconds, hostAliases, shareProcessNamespace, javaOptions, lifecycle, ports, priorityClassName]
driver: [podName, kubernetesMaster, serviceAnnotations, serviceLabels]
executor: [instances, deleteOnTermination]
""")
"""The names of the Spark operator's v1beta2 (api/v1beta2/sparkapplication_types.go): it prunes all others unsaid."""
ALLOWED = {
    "type": {"Java", "Python", "Scala", "R"},
    "mode": {"cluster", "client"},
    "pythonVersion": {"2", "3"},
}


def submitted(script: str) -> list[str]:
    text = (SPARK / script).read_text(encoding="utf-8")
    return shlex.split(text.split("exec ", 1)[1].replace("\\\n", " "))


def application() -> dict[str, Any]:
    found = yaml.safe_load((SPARK / "kubernetes.yaml").read_text(encoding="utf-8"))
    assert found["apiVersion"] == "sparkoperator.k8s.io/v1beta2"
    assert found["kind"] == "ScheduledSparkApplication"
    template: dict[str, Any] = found["spec"]["template"]
    return template


def arguments(name: str) -> list[str]:
    if name in SCRIPTS:
        words = submitted(name)
        return words[words.index(f"$replan/{Path(MAIN).name}") + 1 :]
    return list(application()["arguments"])


@pytest.mark.command
@pytest.mark.parametrize("name", [*SCRIPTS, "kubernetes.yaml"])
def test_what_is_submitted_is_a_command_that_there_is(tmp_path: Path, name: str) -> None:
    """It gets as far as its fleet file, which is not there."""
    done = replan(*arguments(name), folder=tmp_path)
    file = arguments(name)[arguments(name).index("--fleet") + 1]
    assert done.stderr == f"replan: {file}: there is no such file or folder; check the path\n", (
        done.stderr
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_one_of_the_shell_and_its_settings_are_sparks(name: str) -> None:
    subprocess.run(["sh", "-n", SPARK / name], check=True)
    words = submitted(name)
    assert words[:2] == ["spark-submit", "--master"]
    settings = [words[at + 1] for at, word in enumerate(words) if word == "--conf"]
    assert all(re.fullmatch(r"spark\.[A-Za-z.]+=\S+", setting) for setting in settings)


def test_the_application_runs_the_spark_that_is_locked() -> None:
    found = application()
    lock = (TOP / "requirements.lock").read_text(encoding="utf-8")
    assert f"pyspark=={found['sparkVersion']} " in lock
    assert found["mainApplicationFile"].startswith("local:///")
    assert found["mainApplicationFile"].endswith(MAIN)
    volumes = {volume["name"] for volume in found["volumes"]}
    for role in ("driver", "executor"):
        assert {mount["name"] for mount in found[role]["volumeMounts"]} == volumes


def test_the_application_has_the_fields_of_the_operator() -> None:
    spec = yaml.safe_load((SPARK / "kubernetes.yaml").read_text(encoding="utf-8"))["spec"]
    template = application()
    assert set(spec) <= set(FIELDS["spec"])
    assert set(template) <= set(FIELDS["template"])
    for role in ("driver", "executor"):
        assert set(template[role]) <= {*FIELDS["pod"], *FIELDS[role]}
        for key in {"cores", "instances"} & set(template[role]):
            assert isinstance(template[role][key], int)
        for key in {"memory", "memoryOverhead"} & set(template[role]):
            assert isinstance(template[role][key], str)
    assert {"type", "sparkVersion", "mainApplicationFile", "driver", "executor"} <= set(template)
    assert all(template[name] in allowed for name, allowed in ALLOWED.items())
    assert spec["concurrencyPolicy"] in {"Allow", "Forbid", "Replace"}
    assert set(template["restartPolicy"]) == {"type"}
    assert template["restartPolicy"]["type"] in {"Never", "Always", "OnFailure"}
    assert all(isinstance(value, str) for value in template["sparkConf"].values())


def test_executors_get_what_docs_name_in_the_releases_of_this_one() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = {*project["dependencies"], *project["optional-dependencies"]["fleet"]}
    lines = (SPARK / "requirements.txt").read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if not line.startswith("#")]
    assert set(listed) <= ours
    text = (TOP / "docs" / "fleet.md").read_text(encoding="utf-8")
    named = text.split("* executors have Python with ", 1)[1].split(", at `PYSPARK_PYTHON`", 1)[0]
    wanted = {name.lower() for name in re.split(r",\s|\sand\s", named)}
    assert {re.split(r"[^\w-]", line)[0] for line in listed} == wanted
