"""What a model file holds, in figures that JSON can hold. No terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.catalogue import name_of, setting_of
from oneof.hedge import Hedge

if TYPE_CHECKING:
    from oneof.online import OnlineClassifier
    from oneof.persistence.models import ModelFile


def described(file: ModelFile, top: int) -> dict[str, Any]:
    """Return learner, parameters, counters, and each class's `top` heaviest features."""
    estimator = file.model
    model = estimator.model_
    rounds = max(model.t, 1)
    parameters = estimator.get_params(deep=False)
    parameters.pop("members", None)
    description: dict[str, Any] = {
        "learner": name_of(estimator),
        "parameters": parameters,
        "classes": estimator.classes_.tolist(),
        "features": model.n_features,
        "dtype": model.dtype.name,
        "rounds": model.t,
        "updates": f"{model.n_updates} ({model.n_updates / rounds:.2%})",
        "mistakes": f"{model.n_mistakes} ({model.n_mistakes / rounds:.2%})",
        "reading": getattr(estimator, "reading_", {}),
        "written_by": f"oneof {file.library}",
        "checksum": "holds",
        "heaviest": _heaviest(estimator, top),
    }
    if isinstance(estimator, Hedge):
        description["members"] = _members(estimator)
    if "checkpoint" in file.parts:
        description["checkpoint"] = file.parts["checkpoint"].get("place")
    return description


def _members(team: Hedge) -> list[dict[str, Any]]:
    """Return who runs, what it has been trusted for, and how much it is."""
    found = zip(team.estimators(), team.weights_, team.member_mistakes_, strict=True)
    return [
        {
            "learner": name_of(member),
            "parameters": setting_of(member),
            "weight": float(weight),
            "mistakes": int(mistakes),
        }
        for member, weight, mistakes in found
    ]


def _heaviest(estimator: OnlineClassifier, top: int) -> list[list[tuple[Any, float]]]:
    """Return name and weight of the features with the largest magnitudes, class by class.

    A team's are those of its best member.
    """
    names = getattr(estimator, "feature_names_in_", None)
    coef = (estimator.best_member_ if isinstance(estimator, Hedge) else estimator).coef_
    found = []
    for weights in coef:
        size = np.abs(weights)
        n = min(top, size.size)
        best = np.argpartition(-size, n - 1)[:n] if n else np.empty(0, dtype=int)
        best = best[np.lexsort((best, -size[best]))]
        found.append(
            [
                (j if names is None else names[j], float(weights[j]))
                for j in best.tolist()
                if weights[j]
            ]
        )
    return found
