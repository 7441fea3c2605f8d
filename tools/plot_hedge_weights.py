"""Draws docs/figures/hedge-weights.svg: what Hedge trusts while digits arrive. Run it by hand."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

from oneof import Hedge, ambiguity, datasets
from oneof.experiments.rivals import words

digits = datasets.load("digits")
Y = ambiguity.uniform(digits.y, size=6, random_state=0)
model, weights, step = Hedge(scale="standardize"), [], 20
for at in range(0, len(digits.y), step):
    model.partial_fit(digits.X[at : at + step], Y[at : at + step])
    weights.append(model.weights_)
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
at = step * np.arange(1, len(weights) + 1)
for member, share in zip(model._estimators(), np.transpose(weights), strict=True):
    ax.plot(at, share, label=f"{type(member).__name__}({words(member)})")
ax.set(xlabel="rows", ylabel="share of the vote", ylim=(0, 1))
ax.legend(fontsize=6)
plt.rcParams["svg.hashsalt"] = "oneof"
target = Path(__file__).parent.parent / "docs" / "figures" / "hedge-weights.svg"
figure.savefig(target, metadata={"Date": None})
