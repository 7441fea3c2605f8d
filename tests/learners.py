"""The table of learners that the laws hold for: a new learner joins here, and only here."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

import oneof
import reference


@dataclass(frozen=True)
class Learner:
    """An estimator, and the same thing in the words of the reference."""

    name: str
    estimator: type
    loss: str
    rule: str
    parameters: dict = field(default_factory=dict)

    def make(self, **shared):
        return self.estimator(**self.parameters, **shared)

    def step(self, W, x, Y, t, sample_weight=1.0):
        rule = reference.RULES[self.rule]
        return rule(W, x, Y, t, self.term, sample_weight=sample_weight, **self.rule_parameters)

    @property
    def rule_parameters(self):
        """Without those of the loss."""
        return {name: v for name, v in self.parameters.items() if name != "beta"}

    @property
    def term(self):
        """The loss as the reference takes it."""
        if self.loss == "soft":
            return partial(reference.soft_term, beta=self.parameters["beta"])
        return self.loss

    @property
    def is_bounded(self):
        """Whether no row, however long, makes the scores of the next one overflow."""
        steps_by_length = self.rule == "passive_aggressive" or (
            self.rule == "gradient" and self.parameters.get("step") != "sqrt"
        )
        return self.rule == "pegasos" or steps_by_length

    def sensitivity(self, x, moved, weight):
        """How far W moves per unit of error in the scores, where it moved so far: at most."""
        longest, xx = np.abs(x).max(initial=0), x @ x
        if self.rule == "gradient":
            steepest = weight * longest * self.parameters.get("eta0", 3)
            return steepest / (1 if self.parameters.get("step") == "sqrt" else max(xx, 1e-9))
        is_steep = self.rule == "passive_aggressive" and xx > 0
        by_hinge = 2 * weight * longest / xx if is_steep else 0
        return self.parameters.get("beta", 0) * moved + by_hinge


LEARNERS = [
    Learner("avg-perceptron", oneof.AvgPerceptron, "avg", "perceptron"),
    Learner("max-perceptron", oneof.MaxPerceptron, "max", "perceptron"),
    Learner("avg-perceptron-eta", oneof.AvgPerceptron, "avg", "perceptron", {"eta0": 0.3}),
    Learner(
        "max-perceptron-mistake",
        oneof.MaxPerceptron,
        "max",
        "perceptron",
        {"update": "mistake", "eta0": 2.5},
    ),
    Learner(
        "avg-perceptron-mistake", oneof.AvgPerceptron, "avg", "perceptron", {"update": "mistake"}
    ),
    Learner("avg-pegasos", oneof.AvgPegasos, "avg", "pegasos", {"alpha": 0.1}),
    Learner("max-pegasos", oneof.MaxPegasos, "max", "pegasos", {"alpha": 0.01}),
    Learner(
        "avg-pegasos-always", oneof.AvgPegasos, "avg", "pegasos", {"alpha": 1.0, "shrink": "always"}
    ),
    Learner(
        "max-pegasos-always",
        oneof.MaxPegasos,
        "max",
        "pegasos",
        {"alpha": 30.0, "shrink": "always"},
    ),
    Learner("soft-perceptron", oneof.SoftPerceptron, "soft", "perceptron", {"beta": 0.7}),
    Learner(
        "soft-perceptron-mistake",
        oneof.SoftPerceptron,
        "soft",
        "perceptron",
        {"beta": 0.5, "eta0": 0.2, "update": "mistake"},
    ),
    Learner("soft-pegasos", oneof.SoftPegasos, "soft", "pegasos", {"beta": 1.5, "alpha": 0.1}),
    *(
        Learner(
            f"{loss}-{variant.lower()}{'-exact' if exact else ''}",
            {
                "avg": oneof.AvgPassiveAggressive,
                "max": oneof.MaxPassiveAggressive,
                "soft": oneof.SoftPassiveAggressive,
            }[loss],
            loss,
            "passive_aggressive",
            {
                "C": C,
                "variant": variant,
                "exact": exact,
                **({"beta": 1.3} if loss == "soft" else {}),
            },
        )
        for loss, variant, exact, C in [
            ("avg", "PA", False, 1.0),
            ("max", "PA-I", False, 0.05),
            ("avg", "PA-II", True, 0.1),
            ("max", "PA-I", True, 0.5),
            ("soft", "PA-I", True, 0.3),
        ]
    ),
    Learner("candidate-logistic", oneof.CandidateLogistic, "log", "gradient"),
    Learner(
        "candidate-logistic-sqrt",
        oneof.CandidateLogistic,
        "log",
        "gradient",
        {"step": "sqrt", "eta0": 0.2, "alpha": 0.1},
    ),
]


@dataclass(frozen=True)
class Team:
    """Learners side by side as one estimator; the laws that need no formula hold for it, too."""

    name: str
    members: tuple = ()  # the default ones
    rule = "passive_aggressive"  # that of one of them
    is_bounded = False

    def make(self, *, average=False, scale="none", **shared):
        """Half of the members scale and the others do not; half of them average."""
        if not self.members:
            return oneof.Hedge(scale=scale, **shared)
        made = [
            kind(average=average ^ bool(i % 2), scale=scale if i < 2 else "none", **own, **shared)
            for i, (kind, own) in enumerate(self.members)
        ]
        return oneof.Hedge(made, rate=0.3, **shared)


TEAMS = [
    Team("hedge-default"),
    Team(
        "hedge",
        (
            (oneof.AvgPerceptron, {}),
            (oneof.MaxPegasos, {"alpha": 0.1}),
            (oneof.SoftPassiveAggressive, {"exact": True}),
            (oneof.CandidateLogistic, {}),
        ),
    ),
]
EVERYONE = [*LEARNERS, *TEAMS]


def models_of(model):
    """The models that keep weights or moments: one, or those of a team."""
    return model._every_model() if hasattr(model, "models") else [model]


def bits(estimator):
    """Everything the model will ever use again."""
    kept = [
        a.tobytes()
        for m in models_of(estimator.model_)
        for a in (m._weights, m._scale, m._counters, *([] if m._moments is None else [m._moments]))
    ]
    return [*kept, estimator.model_.t, estimator.model_.n_mistakes]


def coefs(model):
    """The weights of a model, features × classes, or those of each of a team's members."""
    single = model.models if hasattr(model, "models") else [model]
    return [m.weights()[0].T for m in single]


FORMS = ["dense", "fortran", "strided", "csr32", "csr64"]


def as_form(X, form):
    """The same rows in another layout."""
    if form == "fortran":
        return np.asfortranarray(X)
    if form == "strided":
        return np.repeat(X, 2, axis=1)[::-1, ::2][::-1]
    if form.startswith("csr"):
        S = sparse.csr_array(X)
        wide = form == "csr64"
        S.indices = S.indices.astype(np.int64 if wide else np.int32)
        S.indptr = S.indptr.astype(S.indices.dtype)
        return S
    return np.ascontiguousarray(X)


@dataclass(frozen=True, repr=False)
class Stream:
    """Rows, candidate sets of class indices, classes."""

    X: np.ndarray
    sets: list
    n_classes: int

    @property
    def classes(self):
        return np.arange(self.n_classes)


@st.composite
def streams(draw, n_classes=st.integers(2, 40), n_rounds=st.integers(1, 25), full_sets=True):
    """Streams with zero rows, full sets, repeated rows, many scales."""
    K, n, d = draw(n_classes), draw(n_rounds), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d)) * 10.0 ** draw(st.integers(-3, 3))
    X[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.5, 0.9]))] = 0
    X[rng.random(n) < 0.1] = 0
    largest = K if full_sets else K - 1
    sets = [
        set(rng.choice(K, size=rng.integers(1, largest + 1), replace=False).tolist())
        for _ in range(n)
    ]
    # Through float32, so that both types see the same rows.
    return Stream(X.astype(np.float32).astype(np.float64), sets, K)
