"""What `fleet.spark` offers: the public names of its modules. Tests go by it, so that a module can move."""

from replan.fleet.spark.daemon import *
from replan.fleet.spark.frames import *
from replan.fleet.spark.java import *
from replan.fleet.spark.on_spark import *
from replan.fleet.spark.session import *
from replan.fleet.spark.source import *
