#!/bin/sh
# `fleet run` on YARN. The Python of the executors travels as an archive, made once by
#   python -m venv env && env/bin/pip install -r requirements.txt venv-pack && env/bin/venv-pack -p env -o env.tar.gz
# The lake is in an object store, or on a mount; placements are on a mount that all nodes have.
set -eu
replan=$(python -c 'import replan; print(replan.__path__[0])')
export PYSPARK_DRIVER_PYTHON=python
export PYSPARK_PYTHON=./env/bin/python
exec spark-submit \
  --master yarn \
  --deploy-mode client \
  --name replan-fleet \
  --archives env.tar.gz#env \
  --num-executors 8 \
  --executor-cores 2 \
  --executor-memory 2g \
  --conf spark.executor.memoryOverhead=2g \
  "$replan/__main__.py" fleet run --fleet /mnt/ops/fleet.yaml -o /mnt/ops/report
