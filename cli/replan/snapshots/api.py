"""What `snapshots` offers: the public names of its modules. Tests go by it, so that a module can move."""

from replan.snapshots.files import *
from replan.snapshots.head import *
from replan.snapshots.json_form import *
from replan.snapshots.parquet_form import *
from replan.snapshots.rates_file import *
from replan.snapshots.tail_files import *
