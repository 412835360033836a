"""What `reconciling` offers: the public names of its modules. Tests go by it, so that a module can move."""

from replan.reconciling.decision import *
from replan.reconciling.deviations import *
from replan.reconciling.explaining import *
from replan.reconciling.guard import *
from replan.reconciling.history import *
from replan.reconciling.loop import *
from replan.reconciling.memory import *
from replan.reconciling.ports import *
from replan.reconciling.rounds import *
from replan.reconciling.standing import *
from replan.reconciling.status import *
from replan.reconciling.steering import *
from replan.reconciling.store import *
from replan.reconciling.windows import *
