"""The stages of the pipeline, each a function of DataFrames to a DataFrame of a declared schema (`tables`).

    sources -> heads      of which cluster each file is
    pairs   -> resolved   declared and observed partitions, overlays laid
    resolved twice -> differences    the diff, cluster by cluster and bucket by bucket
    resolved, differences, pairs -> drift, clusters, errors

Not here: reading and comparing themselves (`heads`, `resolve`, `planning.comparison.diff`), which know no Spark.
"""

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from replan.fleet.heads import read_heads
from replan.fleet.resolve import resolve_pairs
from replan.fleet.tables import DIFFERENCES, HEADS, RESOLVED, spark_schema
from replan.planning.comparison.diff import DifferenceKind, differing


def heads(sources: DataFrame) -> DataFrame:
    """Of which cluster each source is."""
    return sources.mapInArrow(read_heads, spark_schema(HEADS))


def resolved(pairs: DataFrame) -> DataFrame:
    """Declared and observed partitions of each pair; a pair that cannot be read is one row of side `error`."""
    return pairs.mapInArrow(resolve_pairs, spark_schema(RESOLVED))


def differences(declared: DataFrame, observed: DataFrame) -> DataFrame:
    """The partitions that differ from what is declared, found by `comparison.diff`.

    The two must not be derived from one DataFrame: Spark then gives the columns of the second side new ids
    but not the function's arguments, and drops those that it does not find (seen in 4.1.4).
    """
    keys = ("cluster_id", "bucket")
    wanted = declared.filter("side = 'declared'").select(*keys, "topic", "partition", "replicas")
    seen = observed.filter("side = 'observed'").drop("side", "message")
    groups = wanted.groupBy(*keys).cogroup(seen.groupBy(*keys))
    return groups.applyInArrow(_compare, spark_schema(DIFFERENCES))


def _compare(key: tuple[pa.Scalar, ...], declared: pa.Table, observed: pa.Table) -> pa.Table:
    found = differing(declared, observed)
    cluster = pa.repeat(key[0].cast(pa.string()), found.num_rows)
    return found.add_column(0, DIFFERENCES.field("cluster_id"), cluster)


def drift(rows: DataFrame, found: DataFrame, pairs: DataFrame) -> DataFrame:
    """All that drifted: what the diff found, and partitions beyond the declared count.

    A partition whose running reassignment leads to the declared list is no drift.
    """
    differing_rows = found.filter("kind != 'running'")
    surplus = rows.filter("side = 'surplus'").select(
        "cluster_id",
        "topic",
        "partition",
        F.lit("partitions").alias("kind"),
        F.array().cast("array<int>").alias("declared"),
        F.col("replicas").alias("observed"),
        "leader",
    )
    named = pairs.select("cluster_id", "cluster_name", "observed_at")
    return differing_rows.unionByName(surplus).join(F.broadcast(named), "cluster_id")


def clusters(rows: DataFrame, found: DataFrame, pairs: DataFrame) -> DataFrame:
    """Each cluster that was compared, with its numbers."""
    unread = rows.filter("side = 'error'").select("cluster_id")
    reach = (
        rows.filter("side = 'declared'").groupBy("cluster_id").agg(F.count("*").alias("partitions"))
    )
    surplus = rows.filter("side = 'surplus'").select(
        "cluster_id", F.lit("partitions").alias("kind")
    )
    kinds = found.select("cluster_id", "kind").unionByName(surplus)
    counted = kinds.groupBy("cluster_id").agg(
        F.count_if(F.col("kind") != DifferenceKind.RUNNING.value).alias("drifted"),
        F.count_if(F.col("kind") == DifferenceKind.RUNNING.value).alias("converging"),
    )
    return (
        pairs.select("cluster_id", "cluster_name", "observed_at")
        .join(unread, "cluster_id", "left_anti")
        .join(reach, "cluster_id", "left")
        .join(counted, "cluster_id", "left")
        .fillna(0, ["partitions", "drifted", "converging"])
    )


def errors(rows: DataFrame, pairs: DataFrame) -> DataFrame:
    """Pairs that could not be read after all."""
    return (
        rows.filter("side = 'error'")
        .join(F.broadcast(pairs), "cluster_id")
        .select(F.col("cluster_name").alias("cluster"), F.col("snapshot").alias("file"), "message")
    )
