"""MATLAB files of partially labelled data: both layouts, and what is refused."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from oneof import datasets

DATA = os.environ.get("ONEOF_DATA")

Z = np.array([[0.5, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])
TRUTH = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]])
MARKS = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 1, 1]])


def matlab(tmp_path, **variables):
    path = tmp_path / "some.mat"
    savemat(path, variables)
    return path


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "layout", ["labels x rows", "rows x labels", "X, Y, Y_P", "vector", "row vector"]
)
def test_both_matlab_layouts(tmp_path, make, layout):
    truth, marks = make(TRUTH.astype(float)), make(MARKS.astype(float))
    vector = TRUTH.argmax(axis=1)[:, None] + 1
    path = matlab(
        tmp_path,
        **{
            "labels x rows": {"data": Z, "target": truth.T, "partial_target": marks.T},
            "rows x labels": {"data": Z, "target": truth, "partial_target": marks},
            "X, Y, Y_P": {"X": make(Z), "Y": truth, "Y_P": marks},
            "vector": {"X": Z, "Y": vector, "Y_P": marks},
            "row vector": {"data": Z, "target": vector.T, "partial_target": marks.T},
        }[layout],
    )
    data = datasets.load_partial_label_mat(path)
    features = data.X.toarray() if sparse.issparse(data.X) else data.X
    assert np.array_equal(features, Z)
    assert data.y.tolist() == [0, 1, 2, 1]
    assert data.classes.tolist() == ["1", "2", "3"]
    assert np.array_equal(data.candidates.to_indicator(), MARKS)
    assert (data.name, data.source) == ("some", str(path))


def test_a_square_table_is_read_as_its_layout_says(tmp_path):
    truth, marks = np.eye(3), np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    turned = matlab(tmp_path, data=Z[:3], target=truth, partial_target=marks)
    assert np.array_equal(
        datasets.load_partial_label_mat(turned).candidates.to_indicator(), marks.T
    )
    straight = matlab(tmp_path, X=Z[:3], Y=truth, Y_P=marks)
    assert np.array_equal(
        datasets.load_partial_label_mat(straight).candidates.to_indicator(), marks
    )


def test_rows_without_a_truth_are_unknown(tmp_path):
    path = matlab(tmp_path, X=Z, Y=TRUTH * [[1], [0], [1], [1]], Y_P=MARKS)
    assert datasets.load_partial_label_mat(path).y.tolist() == [0, -1, 2, 1]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"features": Z}, "must hold data, target, partial_target or X, Y, Y_P, but it holds feat"),
        ({"X": Z, "Y": TRUTH, "Y_P": MARKS[:3]}, "candidates must be a table with one side of 4"),
        ({"X": Z, "Y": TRUTH, "Y_P": MARKS * 2}, "candidates must be marked with 0 and 1"),
        ({"X": Z, "Y": TRUTH, "Y_P": MARKS * [[1], [1], [0], [1]]}, "row 2"),
        ({"X": Z, "Y": TRUTH[:, :2], "Y_P": MARKS}, "truth has 2 classes, the candidates 3"),
        ({"X": Z, "Y": MARKS, "Y_P": MARKS}, "row 0 has more than one true label"),
        ({"X": Z, "Y": [[1], [2], [3], [4]], "Y_P": MARKS}, "must be numbers from 1 to 3"),
        ({"X": "text", "Y": TRUTH, "Y_P": MARKS}, "features must be a table of numbers"),
    ],
)
def test_a_bad_matlab_file_is_named_and_refused(tmp_path, variables, words):
    path = matlab(tmp_path, **variables)
    with pytest.raises(ValueError, match=words) as error:
        datasets.load_partial_label_mat(path)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("raw", [b"", b"nothing", b"MATLAB 5.0 MAT-file" + bytes(200)])
def test_what_is_no_matlab_file_is_refused(tmp_path, raw):
    path = tmp_path / "some.mat"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"some\.mat cannot be read as a MATLAB file"):
        datasets.load_partial_label_mat(path)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_truncated_matlab_file_is_refused(tmp_path, share):
    path = matlab(tmp_path, X=Z, Y=TRUTH, Y_P=MARKS)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(ValueError, match=r"some\.mat"):
        datasets.load_partial_label_mat(path)


def test_matlab_7_3_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "new.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + bytes(600))
    with pytest.raises(ValueError, match=r"save it again in MATLAB with the option '-v7'"):
        datasets.load_partial_label_mat(path)


@pytest.mark.skipif(not DATA, reason="ONEOF_DATA names no folder with the data sets")
def test_lost_survives_the_way_through_matlab(monkeypatch, tmp_path):
    monkeypatch.setenv("ONEOF_DATA", DATA)
    lost = datasets.load("lost")
    target = sparse.csc_matrix(np.eye(16)[:, lost.y])
    marks = lost.candidates.to_indicator(sparse=True).T.astype(float)
    path = matlab(tmp_path, data=lost.X, target=target, partial_target=sparse.csc_matrix(marks))
    back = datasets.load_partial_label_mat(path)
    assert np.array_equal(back.X, lost.X)
    assert np.array_equal(back.y, lost.y)
    assert back.candidates == lost.candidates
