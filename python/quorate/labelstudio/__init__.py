"""People answer in Label Studio what the learner of `quorate serve` asks: the program quorate-labelstudio.

A pass makes both sides agree. What Label Studio has counts for answers, and what the server has counts for questions, so a
pass that is repeated, or that ended in the middle, does no harm: nothing is stored here.

  annotations -> answers    each is put under the name of its Label Studio user, with the annotation's id as its source
  deleted annotations       an answer of this project whose annotation is gone is taken back
  cancelled annotations     the lease is given up, so that others may be asked
  tasks without annotation  their leases are renewed; of a question that is not open any more the task is deleted
  questions -> tasks        up to `ahead` of them wait in the project, with the prediction (not of audits)
"""

from quorate.labelstudio.bridge import Bridge
from quorate.labelstudio.common import Log, SetupError
from quorate.labelstudio.form import Form
from quorate.labelstudio.listener import Listener
from quorate.labelstudio.program import main
from quorate.labelstudio.studio import LabelStudio, LabelStudioError

__all__ = ["Bridge", "Form", "LabelStudio", "LabelStudioError", "Listener", "Log", "SetupError", "main"]
