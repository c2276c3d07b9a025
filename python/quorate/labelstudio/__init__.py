"""People answer the questions of `quorate serve` in Label Studio: the program quorate-labelstudio.

A pass synchronizes both sides. Answers are taken from Label Studio, and questions from the server, so a pass that is
repeated, or that ended in the middle, does no harm: nothing is stored here.

  annotations -> answers    each is put under the name of its Label Studio user, with the annotation's id as its source
  deleted annotations       an answer of this project whose annotation is gone is taken back
  cancelled annotations     the lease is given up, so that others may be asked
  tasks without annotation  their leases are renewed; a task whose question is no longer open is deleted
  questions -> tasks        up to `ahead` of them wait in the project, with the prediction (except audits)
"""

from quorate.labelstudio.bridge import Bridge
from quorate.labelstudio.common import Log, SetupError
from quorate.labelstudio.form import Form
from quorate.labelstudio.listener import Listener
from quorate.labelstudio.program import main
from quorate.labelstudio.studio import LabelStudio, LabelStudioError

__all__ = ["Bridge", "Form", "LabelStudio", "LabelStudioError", "Listener", "Log", "SetupError", "main"]
