"""The ControlPlane over a real cluster; the only place that knows the two Kafka clients.

`control_plane.open_cluster` is the way in. Importing this package imports kafka-python (0.1 s), so commands
that need no cluster should not.
"""

import warnings

with warnings.catch_warnings():
    # kafka-python 3.0.12 reads its schemas by a call that Python 3.11 deprecates and 3.13 welcomes again.
    warnings.filterwarnings("ignore", "(read|open)_text is deprecated", DeprecationWarning)
    import kafka  # noqa: F401
