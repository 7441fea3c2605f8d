"""What the compiled module refuses: memory safety rests on these checks alone."""

import numpy as np
import pytest
from scipy import sparse

from oneof import _kernels
from oneof.rows import Rows


def aligned(rows, width, dtype=np.float64):
    room = np.zeros(rows * width * np.dtype(dtype).itemsize + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + room.size - 64].view(dtype).reshape(rows, width)


def weights(n_features=3, n_classes=4, dtype=np.float64, **changes):
    width = _kernels.padded(n_classes, np.dtype(dtype).itemsize)
    parts = {
        "weights": aligned(n_features, width, dtype),
        "scale": np.array([1.0, 0.0, 0.0]),
        "counters": np.zeros(3, dtype=np.int64),
        "n_classes": n_classes,
        "has_intercept": False,
        "is_averaged": False,
    }
    return _kernels.Weights(**{**parts, **changes})


LEARNER = _kernels.Learner(_kernels.Loss.avg, _kernels.Rule.perceptron)
X = np.ones((2, 3))
INDPTR, CODES = np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32)


def learn(w=None, rows=None, indptr=INDPTR, codes=CODES, **extras):
    rows = _kernels.Rows.dense(X) if rows is None else rows
    return _kernels.learn(LEARNER, weights() if w is None else w, rows, indptr, codes, **extras)


def test_a_sound_call_learns():
    assert learn() == -1
    assert _kernels.isa in _kernels.builds


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": aligned(3, 2)}, "aligned, contiguous and padded"),
        ({"weights": aligned(3, 8)[:, :4]}, "aligned, contiguous and padded"),
        ({"weights": aligned(4, 4).ravel()[1:13].reshape(3, 4)}, "aligned"),
        ({"weights": aligned(3, 4, np.int64)}, "float32 or float64"),
        ({"weights": aligned(0, 4), "has_intercept": True}, "aligned"),
        ({"is_averaged": True}, "aligned, contiguous and padded"),
        ({"scale": np.zeros(2)}, "three entries"),
        ({"counters": np.zeros(2, dtype=np.int64)}, "three entries"),
        ({"n_classes": 0}, "a model has a class"),
    ],
)
def test_unsound_weights_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        weights(**changes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: learn(rows=_kernels.Rows.dense(np.ones((2, 4)))), "more features than weights"),
        (lambda: learn(rows=_kernels.Rows.dense(X.astype(np.float32))), "differ in type"),
        (lambda: learn(indptr=np.array([0, 1])), "a candidate set for each row"),
        (lambda: learn(indptr=np.array([0, 1, 3])), "a candidate set for each row"),
        (lambda: learn(order=np.array([0, 2])), "order names a missing row"),
        (lambda: learn(order=np.array([-1])), "order names a missing row"),
        (lambda: learn(sample_weight=np.ones(3)), "a weight for each row"),
        (lambda: learn(predictions=np.zeros(3, np.int32)), "a prediction for each round"),
        (
            lambda: _kernels.score(weights(), _kernels.Rows.dense(X), scores=np.zeros((2, 3))),
            "room for a score",
        ),
        (
            lambda: _kernels.score(
                weights(), _kernels.Rows.dense(X), scores=np.zeros((2, 4), "f4")
            ),
            "room for a score",
        ),
        (
            lambda: _kernels.score(
                weights(), _kernels.Rows.dense(X), predictions=np.zeros(1, np.int32)
            ),
            "a prediction for each row",
        ),
        (lambda: _kernels.Rows.dense(np.ones(3)), "two-dimensional"),
        (lambda: _kernels.Rows.dense(np.ones((2, 3), dtype=int)), "float32 or float64"),
        (
            lambda: _kernels.Rows.csr(np.ones(2), np.zeros(1, "i4"), np.zeros(3, "i4"), 3),
            "three one-dimensional arrays",
        ),
        (
            lambda: _kernels.Rows.csr(np.ones(2), np.zeros(2, "i4"), np.zeros(3, "i8"), 3),
            "the same for both",
        ),
    ],
)
def test_unsound_calls_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([0, 3], [0, 1, 2]),
        ([0, -1], [0, 1, 2]),
        ([0, 1], [0, 1, 5]),
        ([0, 1], [-1, 1, 2]),
        ([0, 1], [1, 0, 2]),
    ],
)
@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_rows_outside_their_matrix_are_refused(indices, indptr, kind):
    broken = sparse.csr_array((2, 3))
    broken.data = np.ones(2)
    broken.indices, broken.indptr = np.array(indices, kind), np.array(indptr, kind)
    rows = Rows(broken)
    assert learn(rows=rows.kernel) >= 0
    with pytest.raises(
        ValueError, match=r"row \d of X is not a row of a CSR matrix with 3 columns"
    ):
        rows.usable()


@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_a_pair_out_of_order_is_found_wherever_it_stands(kind):
    """Rows are looked through by whole vectors of 2 to 16 indices, the last ones overlapping."""
    for n in range(1, 71):
        tidy = np.arange(0, 2 * n, 2).astype(kind)
        for place in range(n):
            indices = tidy.copy()
            if place:
                indices[place] = indices[place - 1] - (place % 2)  # repeated or falling
            rows = _kernels.Rows.csr(np.ones(n), indices, np.array([0, n], kind), 2 * n)
            w = weights(n_features=2 * n)
            failed = learn(w, rows, np.array([0, 1]), np.array([0], dtype=np.int32))
            assert failed == (0 if place else -1), (n, place)
