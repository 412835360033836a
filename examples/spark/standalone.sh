#!/bin/sh
# `fleet run` on a standalone cluster. Executors see the placements and the lake where this machine sees them (a mount),
# or the lake is in an object store. PYSPARK_PYTHON is a Python there with requirements.txt; replan itself is sent along.
set -eu
replan=$(python -c 'import replan; print(replan.__path__[0])')
export PYSPARK_PYTHON=/opt/replan/bin/python
exec spark-submit \
  --master spark://spark-1:7077 \
  --name replan-fleet \
  --total-executor-cores 16 \
  --executor-memory 2g \
  --conf spark.task.maxFailures=4 \
  "$replan/__main__.py" fleet run --fleet /mnt/ops/fleet.yaml -o /mnt/ops/report
