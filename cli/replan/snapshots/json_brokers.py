"""The `brokers` of a snapshot document, with their log directories and configs; what is not known is left out."""

from collections.abc import Mapping

from replan.documents.nodes import Node, optional, shown
from replan.model.broker import Broker, LogDir
from replan.model.configs import Configs, ConfigSource, ConfigValue, can_hold
from replan.model.names import BrokerId
from replan.model.snapshot import Snapshot
from replan.snapshots.json_topics import read_source, source_word

BROKER_KEYS = ("id", "rack", "fenced", "cordoned", "logDirs", "configs")
LOG_DIR_KEYS = ("path", "totalBytes", "usableBytes", "logs", "cordoned", "error", "replicas")
CONFIG_KEYS = ("value", "source")


def read_brokers(
    root: Node,
) -> tuple[tuple[Broker, ...], tuple[LogDir, ...], dict[BrokerId, Configs]]:
    """What is under the key `brokers`, by id; raises BadFile."""
    brokers: dict[BrokerId, Broker] = {}
    log_dirs: dict[BrokerId, list[LogDir]] = {}
    configs: dict[BrokerId, Configs] = {}
    for node in root.elements("brokers"):
        node.mapping(BROKER_KEYS)
        broker = BrokerId(node.child("id").int32())
        if broker in brokers:
            raise node.child("id").wrong(f"broker {broker} is listed twice; keep one")
        brokers[broker] = Broker(
            broker,
            optional(node.get("rack"), _text_or_null, None),
            optional(node.get("fenced"), Node.flag, False),
            optional(node.get("cordoned"), Node.flag, False),
        )
        log_dirs[broker] = [_read_log_dir(found, broker) for found in node.elements("logDirs")]
        found_configs = {key: _read_config(key, found) for key, found in node.members("configs")}
        if found_configs:
            configs[broker] = found_configs
    in_order = sorted(brokers)
    return (
        tuple(brokers[b] for b in in_order),
        tuple(found for b in in_order for found in log_dirs[b]),
        {b: configs[b] for b in in_order if b in configs},
    )


def _read_log_dir(node: Node, broker: BrokerId) -> LogDir:
    node.mapping(LOG_DIR_KEYS)
    return LogDir(
        broker,
        node.child("path").text(),
        optional(node.get("totalBytes"), _bytes_or_null, None),
        optional(node.get("usableBytes"), _bytes_or_null, None),
        optional(node.get("logs"), Node.int32, 0),
        optional(node.get("cordoned"), Node.flag, False),
        optional(node.get("error"), _text_or_null, None),
        {topic: _numbers(of) for topic, of in node.members("replicas")},
    )


def _numbers(node: Node) -> tuple[int, ...]:
    if not isinstance(node.value, list):
        raise node.wrong(f"expected a list of partitions, found {shown(node.value)}")
    return tuple(
        Node(number, node.source, node, position).int32()
        for position, number in enumerate(node.value)
    )


def _read_config(key: str, node: Node) -> ConfigValue:
    node.mapping(CONFIG_KEYS)
    value = node.child("value")
    text = value.any_text()
    if not can_hold(key, text):
        raise value.wrong(f"{key} is a whole number of bytes per second, found {shown(text)}")
    return ConfigValue(
        text,
        optional(node.get("source"), read_source, ConfigSource.BROKER),
    )


def write_broker(broker: Broker, snapshot: Snapshot) -> dict[str, object]:
    """One broker."""
    configs = snapshot.broker_configs.get(broker.id, {})
    return {
        "id": broker.id,
        **_without_defaults(
            {
                "rack": (broker.rack, None),
                "fenced": (broker.fenced, False),
                "cordoned": (broker.cordoned, False),
                "logDirs": ([_write_log_dir(d) for d in _dirs_of(broker, snapshot)], []),
                "configs": ({k: _write_config(v) for k, v in sorted(configs.items())}, {}),
            }
        ),
    }


def _dirs_of(broker: Broker, snapshot: Snapshot) -> list[LogDir]:
    return [d for d in snapshot.log_dirs if d.broker == broker.id]


def _write_log_dir(found: LogDir) -> dict[str, object]:
    return {
        "path": found.path,
        **_without_defaults(
            {
                "totalBytes": (found.total_bytes, None),
                "usableBytes": (found.usable_bytes, None),
                "logs": (found.logs, 0),
                "cordoned": (found.cordoned, False),
                "error": (found.error, None),
                "replicas": ({t: list(of) for t, of in sorted(found.replicas.items())}, {}),
            }
        ),
    }


def _write_config(config: ConfigValue) -> dict[str, object]:
    source = {} if config.source is ConfigSource.BROKER else {"source": source_word(config.source)}
    return {"value": config.value, **source}


def _without_defaults(fields: Mapping[str, tuple[object, object]]) -> dict[str, object]:
    return {key: value for key, (value, default) in fields.items() if value != default}


def _text_or_null(node: Node) -> str | None:
    return None if node.value is None else node.text()


def _bytes_or_null(node: Node) -> int | None:
    return None if node.value is None else node.int64()
