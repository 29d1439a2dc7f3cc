"""The names of our logs (the part after `projects/<project>/logs/`), as `controller/api/constants.py` has them too.

A leaf imports nothing of the controller: a test holds the two, the startup script and the log sink's filter together.
"""

from typing import Final

#: What VMs say of their way into the cluster.
LOG_BOOTSTRAP: Final = "tpu-node-bootstrap"
#: What the operator sends itself along the whole path.
LOG_CANARY: Final = "tpu-node-group-canary"
#: What the operator did.
LOG_ACTIONS: Final = "tpu-node-group-actions"
