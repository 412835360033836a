"""What `faults` offers: the public names of its modules. Tests go by it, so that a module can move."""

from replan.faults.kinds import *
from replan.faults.read import *
from replan.faults.token_reader import *
