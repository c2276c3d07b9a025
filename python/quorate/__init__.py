"""Many related classifiers from one stream, few labels, fixed memory.

The learner to reach for is `Cohort`. Every class is a scikit-learn estimator, a learner of one example at a time, and an
active learner: `fit`, `predict`; `learn_one`, `predict_one`; `decide`, `learn`.
"""

from quorate._asking import Decisions, KeptLabels, Questions
from quorate._core import VERSION as __version__
from quorate._estimator import Estimator, Reason
from quorate._follow import Follower, follow
from quorate.client import AsyncClient, Client, ServerError
from quorate.learners import *  # noqa: F403
from quorate.learners import __all__ as _learners
from quorate.runs import compare, simulate, tune

__all__ = [
    "AsyncClient", "Client", "Decisions", "Estimator", "Follower", "KeptLabels", "Questions", "Reason", "ServerError", "__version__",
    "compare", "follow", "simulate", "tune", *_learners,
]  # fmt: skip
