"""What `documents` offers: the public names of its modules. Tests go by it, so that a module can move."""

from replan.documents.files import *
from replan.documents.json_text import *
from replan.documents.typed import *
