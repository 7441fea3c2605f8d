"""What a model file holds, in figures that JSON can hold. No terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.catalogue import name_of

if TYPE_CHECKING:
    from oneof.persistence.models import ModelFile


def described(file: ModelFile, top: int) -> dict[str, Any]:
    """Return learner, parameters, counters, and each class's `top` heaviest features."""
    estimator = file.model
    model = estimator.model_
    rounds = max(model.t, 1)
    description: dict[str, Any] = {
        "learner": name_of(estimator),
        "parameters": estimator.get_params(deep=False),
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
    if "checkpoint" in file.parts:
        description["checkpoint"] = file.parts["checkpoint"].get("place")
    return description


def _heaviest(estimator: Any, top: int) -> list[list[tuple[Any, float]]]:
    """Return name and weight of the features with the largest magnitudes, class by class."""
    names = getattr(estimator, "feature_names_in_", None)
    coef = estimator.coef_
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
