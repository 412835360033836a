"""What `model` offers: the public names of its modules. Tests go by it, so that a module can move."""

from replan.model.access import *
from replan.model.broker import *
from replan.model.columns import *
from replan.model.configs import *
from replan.model.control_plane import *
from replan.model.declared.intents import *
from replan.model.declared.placement import *
from replan.model.declared.policy import *
from replan.model.declared.reconcile import *
from replan.model.declared.recovery import *
from replan.model.declared.rules import *
from replan.model.declared.topic_patterns import *
from replan.model.declared.where import *
from replan.model.error_codes import *
from replan.model.garbage_collection import *
from replan.model.layered import *
from replan.model.names import *
from replan.model.pandas_hidden import *
from replan.model.partition import *
from replan.model.rates import *
from replan.model.replica_logs import *
from replan.model.snapshot import *
