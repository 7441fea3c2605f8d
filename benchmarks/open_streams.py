"""One row at a time as ratios: against River's linear models, and against itself by the batch.

Run with `make bench`. Every line divides one median by another, measured in turn, in one process,
on one thread.
"""

from __future__ import annotations

import sys

from common import Table, cpu_seconds, run  # first: it keeps NumPy to one thread

import numpy as np
import pandas as pd
from river import linear_model, multiclass, stream
from sklearn.linear_model import Perceptron

import oneof
from oneof.river import RiverClassifier

LEARNERS = [oneof.AvgPerceptron, oneof.MaxPerceptron, oneof.AvgPegasos, oneof.MaxPegasos]
N_CLASSES, N_PASSES = 10, 5
CLASSES = np.arange(N_CLASSES)


def rows_of(n: int, n_features: int, n_nonzero: int, seed: int = 0):
    """Draw rows, exact labels that depend on them, and the labels with one other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    keys = rng.random((n, n_features))
    X[keys > np.sort(keys, axis=1)[:, [n_nonzero - 1]]] = 0
    y = np.argmax(X @ rng.normal(size=(n_features, N_CLASSES)), axis=1)
    sets = [{int(a), int(b)} for a, b in zip(y, rng.integers(0, N_CLASSES, n), strict=True)]
    return X, y.tolist(), sets


def as_dicts(X: np.ndarray, with_zeros: bool = False) -> list[dict[str, float]]:
    names = [f"x{j}" for j in range(X.shape[1])]  # shared by all rows, as a reader's are
    return [
        {name: v for name, v in zip(names, x, strict=True) if v or with_zeros} for x in X.tolist()
    ]


def stream_of(model, rows, ys):
    """Predict each row, then learn it; the model has seen all features and classes before.

    A few rows pass again and again, so that they lie in the cache, as rows just read do.
    """
    for x, y in zip(rows, ys, strict=True):
        model.learn_one(x, y)

    def task():
        for _ in range(N_PASSES):
            for x, y in zip(rows, ys, strict=True):
                model.predict_one(x)
                model.learn_one(x, y)

    return task


def against_river(table: Table) -> None:
    table.head("Dicts, predict_one + learn_one, 10 classes, against River's linear models")
    n = 100
    for n_features, n_nonzero in ((20, 20), (100, 100), (784, 150)):
        X, y, sets = rows_of(n, n_features, n_nonzero)
        for with_zeros in (False, True) if n_nonzero < n_features else (False,):
            rows = as_dicts(X, with_zeros)
            rivals = (
                multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
                linear_model.SoftmaxRegression(),
            )
            tasks = [stream_of(model, rows, y) for model in rivals]
            tasks += [stream_of(RiverClassifier(learner()), rows, sets) for learner in LEARNERS]
            ovr, softmax, *ours = cpu_seconds(*tasks, repeats=7)
            what = f"{len(rows[0])} of {n_features} features"
            for learner, taken in zip(LEARNERS, ours, strict=True):
                note = f"{n * N_PASSES / taken:,.0f} rows/s"
                name = f"{what}: {learner.__name__}"
                table.at_least(f"{name}, one vs rest", 20, ovr / taken, note)
                table.at_least(f"{name}, softmax", 20, softmax / taken, note)


def by_the_batch(table: Table) -> None:
    table.head("learn_many on a DataFrame of 1000 rows against learn_one of each of its rows")
    for n_features, n_nonzero in ((20, 20), (100, 100), (784, 150)):
        X, _, sets = rows_of(1000, n_features, n_nonzero)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_features)])
        y = pd.Series(sets)
        dicts = frame.to_dict("records")
        for learner in (oneof.AvgPerceptron, oneof.MaxPegasos):
            many, looped, only = (RiverClassifier(learner()) for _ in range(3))

            def loop(looped=looped, frame=frame, y=y):
                for (x, _), labels in zip(stream.iter_frame(frame), y, strict=True):
                    looped.learn_one(x, labels)

            def loop_of_dicts(only=only, dicts=dicts, sets=sets):
                for x, labels in zip(dicts, sets, strict=True):
                    only.learn_one(x, labels)

            at_once, one_by_one, bare = cpu_seconds(
                lambda many=many, frame=frame, y=y: many.learn_many(frame, y),
                loop,
                loop_of_dicts,
                repeats=15,
            )
            note = f"{1e3 * at_once:.2f} µs a row; against dicts at hand {bare / at_once:.1f} ×"
            what = f"{n_features} features: {learner.__name__}"
            table.at_least(what, 20, one_by_one / at_once, note)


def one_row(table: Table) -> None:
    table.head("partial_fit with one row against Perceptron.partial_fit with one row")
    for n_features in (20, 784):
        X, y, sets = rows_of(200, n_features, n_features)
        y = np.array(y)
        forms = {
            "set": lambda i, sets=sets: [sets[i]],
            "label": lambda i, y=y: y[i : i + 1],
        }

        def calls(model, form, X=X, y=y):
            model.partial_fit(X, y, classes=CLASSES)

            def task():
                for i in range(len(X)):
                    model.partial_fit(X[i : i + 1], form(i))

            return task

        tasks = [calls(learner(), form) for learner in LEARNERS for form in forms.values()]
        theirs, *ours = cpu_seconds(calls(Perceptron(), forms["label"]), *tasks, repeats=5)
        for i, taken in enumerate(ours):
            learner, form = LEARNERS[i // len(forms)], list(forms)[i % len(forms)]
            note = f"{1e6 * taken / len(X):.1f} µs a call"
            table.at_least(
                f"{n_features} features, a {form}: {learner.__name__}", 10, theirs / taken, note
            )


GROUPS = {"dicts": against_river, "batches": by_the_batch, "one-row": one_row}


if __name__ == "__main__":
    sys.exit(run(GROUPS))
