# Made by tools/stubs.py from the registry; a test compares.
import os
from typing import Any, TypedDict, type_check_only

from typing_extensions import Unpack  # of Python's typing from 3.11 on

from quorate._estimator import Calibrated, Estimator

LEARNERS: dict[str, type[Estimator]]
def from_spec(spec: str, **shared: Unpack[Shared]) -> Estimator: ...
def load(path: str | os.PathLike[str]) -> Estimator: ...

@type_check_only
class Shared(TypedDict, total=False):
    """The parameters of every learner."""
    labels: int | str | list[int | str] | None  # default None
    labels_per_task: int | None  # default None
    audit: float  # default 0.0
    audit_floor: float | None  # default None
    memory: int | str | None  # default None
    keep_labels: str  # default '16MB'
    rounds: str | None  # default None
    labels_per_round: int  # default 1
    max_pending: int  # default 10000
    seed: int  # default 1
    bits: int  # default 18
    bias: bool  # default True
    normalize: bool  # default True
    ngrams: int  # default 1
    char_ngrams: int  # default 0
    binary: bool  # default False
    interactions: str | list[str] | None  # default None
    pace: int | str | None  # default None
    passes: int  # default 1
    tasks: list[Any] | None  # default None
    task_column: str | None  # default None
    text_column: str | list[str] | None  # default None
    categorical_columns: list[str] | None  # default None
    time_parts: bool  # default False
    reduction: str  # default 'one-vs-rest'
    trace: bool  # default False

class Cohort(Calibrated):
    """Shared and own weights, each with a variance."""
    def __init__(
        self,
        *,
        query: str = 'confidence(b=0.5)',
        noise: float = 0.1,
        guess: float = 1.0,
        eta: float = 0.3,
        replays: int = 10,
        cost: str = 'equal',
        store: str = 'auto',
        represent: str = 'svd(rank=64)',
        scale: str = 'auto',
        **shared: Unpack[Shared],
    ) -> None: ...

class Perceptron(Estimator):
    """One perceptron per task."""
    def __init__(
        self,
        *,
        query: str = 'always',
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class Cmtl(Estimator):
    """Perceptrons coupled by a fixed interaction matrix."""
    def __init__(
        self,
        *,
        graph: str = 'complete',
        query: str = 'always',
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class Amtl(Estimator):
    """Perceptrons coupled by how alike they are."""
    def __init__(
        self,
        *,
        graph: str = 'complete',
        query: str = 'always',
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class Peer(Estimator):
    """Ask yourself, then your peers, then the annotator."""
    def __init__(
        self,
        *,
        b: float = 1.0,
        bq: float = 5.0,
        c: float = 1.0,
        share: str = 'none',
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class Amlc(Estimator):
    """Committees of tasks that decide together and share labels."""
    def __init__(
        self,
        *,
        query: str = 'margin(b=1)',
        c: float = 3.4011973816621555,
        rows: str = 'tasks',
        share: str = 'label',
        weigh: str = 'bought',
        cap: float = 2.0,
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class Shampo(Estimator):
    """One annotator for many tasks."""
    def __init__(
        self,
        *,
        b: float = 1.0,
        prior: str = 'equal',
        adaptive: str = 'none',
        choose: str = 'margin',
        aggressive: float = 0.0,
        zero: str = 'ignore',
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class ShampoSecondOrder(Estimator):
    """One annotator for many tasks whose weights have variances."""
    def __init__(
        self,
        *,
        b: float = 1.0,
        prior: str = 'equal',
        adaptive: str = 'none',
        choose: str = 'margin',
        aggressive: bool = False,
        diagonal: bool = False,
        zero: str = 'ignore',
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class KernelPerceptron(Estimator):
    """Kernel perceptrons without a budget."""
    def __init__(
        self,
        *,
        kernel: str = 'gaussian(gamma=1)',
        graph: str = 'complete',
        query: str = 'always',
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class BudgetRandom(Estimator):
    """Kernel perceptrons on a budget: a random one leaves."""
    def __init__(
        self,
        *,
        budget: int = 1000,
        kernel: str = 'gaussian(gamma=1)',
        graph: str = 'complete',
        query: str = 'always',
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class BudgetForgetron(Estimator):
    """Kernel perceptrons on a budget: the oldest fades away."""
    def __init__(
        self,
        *,
        budget: int = 1000,
        kernel: str = 'gaussian(gamma=1)',
        graph: str = 'complete',
        query: str = 'always',
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class BudgetProjectron(Estimator):
    """Kernel perceptrons on a budget: the evicted instance is projected on the others."""
    def __init__(
        self,
        *,
        budget: int = 1000,
        kernel: str = 'gaussian(gamma=1)',
        graph: str = 'complete',
        query: str = 'always',
        eta: float = 0.01,
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

class BudgetProjectronShared(Estimator):
    """Kernel perceptrons on a budget whose instances serve all tasks."""
    def __init__(
        self,
        *,
        budget: int = 1000,
        kernel: str = 'gaussian(gamma=1)',
        graph: str = 'complete',
        query: str = 'always',
        eta: float = 0.01,
        scale: str = 'none',
        **shared: Unpack[Shared],
    ) -> None: ...

__all__ = ['LEARNERS', 'from_spec', 'load', 'Cohort', 'Perceptron', 'Cmtl', 'Amtl', 'Peer', 'Amlc', 'Shampo', 'ShampoSecondOrder', 'KernelPerceptron', 'BudgetRandom', 'BudgetForgetron', 'BudgetProjectron', 'BudgetProjectronShared']
