"""What `rehearsal` offers: the public names of its modules. Tests go by it, so that a module can move."""

from replan.rehearsal.coarse import *
from replan.rehearsal.findings import *
from replan.rehearsal.loop_faults import *
from replan.rehearsal.loop_outcome import *
from replan.rehearsal.options import *
from replan.rehearsal.outcome import *
from replan.rehearsal.reconcile import *
from replan.rehearsal.recording import *
from replan.rehearsal.report.json import *
from replan.rehearsal.report.loop_sections import *
from replan.rehearsal.report.pictures import *
from replan.rehearsal.report.sections import *
from replan.rehearsal.report.sentences import *
from replan.rehearsal.result import *
from replan.rehearsal.run import *
from replan.rehearsal.setup import *
from replan.rehearsal.skipping_clock import *
from replan.rehearsal.summary import *
from replan.rehearsal.watched import *
