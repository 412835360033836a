"""What `scenarios` offers: the public names of its modules. Tests go by it, so that a module can move."""

from replan.scenarios.applying import *
from replan.scenarios.effect_boundary import *
from replan.scenarios.planning import *
from replan.scenarios.reader import *
from replan.scenarios.run import *
from replan.scenarios.session import *
from replan.scenarios.setup import *
