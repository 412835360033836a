"""What `placement_file` offers: the public names of its modules. Tests go by it, so that a module can move."""

from replan.placement_file.digest import *
from replan.placement_file.entries import *
from replan.placement_file.export import *
from replan.placement_file.kafka_json import *
from replan.placement_file.load import *
from replan.placement_file.read import *
from replan.placement_file.scalars import *
from replan.placement_file.schema import *
from replan.placement_file.schema_messages import *
from replan.placement_file.schemas import *
from replan.placement_file.sections import *
from replan.placement_file.sources import *
from replan.placement_file.text_edit import *
from replan.placement_file.units import *
from replan.placement_file.yaml_text import *
