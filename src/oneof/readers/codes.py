"""Labels of Arrow columns to codes of classes. No features, no files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oneof import packing
from oneof.labels import Array, Ints, given_classes, show, sorted_labels

if TYPE_CHECKING:
    from oneof.readers.tables import Faults


class Codes:
    """Finds the codes of labels, or collects the labels where no classes are given."""

    def __init__(self, classes: Array | None) -> None:
        self.classes = classes
        self._known: dict[Any, None] = {}
        self._occurred: set[int] = set()  # codes of good rows, where labels are collected
        self._values: Any = None

    def found(self) -> Array:
        """Return the labels of good rows, sorted."""
        known = list(self._known)
        labels = given_classes([known[i] for i in sorted(self._occurred)])
        return sorted_labels(labels.tolist() if labels.dtype.kind == "U" else labels)

    def note(self, codes: Ints) -> None:
        """Let the labels of good rows be collected."""
        if self.classes is None:
            self._occurred.update(np.unique(codes[codes >= 0]).tolist())

    def sets(self, column: Any, faults: Faults) -> tuple[Ints, Ints]:
        """Return sizes and codes of a column of lists, or of single labels."""
        import pyarrow as pa

        faults.add(column.is_null(), "the row has no candidates")
        kind = column.type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            sizes = column.value_lengths().fill_null(0).to_numpy().astype(np.int64)
            flat = column.flatten()
        else:
            flat, sizes = column.drop_null(), 1 - column.is_null().to_numpy(zero_copy_only=False)
            sizes = sizes.astype(np.int64)
        faults.add(sizes == 0, "the row has no candidates: give at least one label")
        codes = self._coded(flat)
        rows = np.repeat(np.arange(sizes.size), sizes)
        self._refuse_unknown(flat, codes, rows, faults)
        return sizes, codes

    def labels(self, column: Any, faults: Faults) -> Ints:
        """Return the codes of a column of labels, −1 where there is none."""
        codes = self._coded(column)
        is_gap = column.is_null().to_numpy(zero_copy_only=False)
        self._refuse_unknown(column, np.where(is_gap, 0, codes), np.arange(len(column)), faults)
        return codes

    def packed(self, sizes: Ints, codes: Ints, good: Any) -> tuple[Ints, Array]:
        """Return indptr and codes of the good rows, sorted and each once."""
        rows = np.repeat(np.arange(sizes.size), sizes)
        if not good.all():
            codes = codes[good[rows]]
            rows = (np.cumsum(good) - 1)[rows[good[rows]]]
        self.note(codes)
        n, n_classes = int(good.sum()), int(max(codes.max(initial=0) + 1, 1))
        keys = rows * n_classes + codes
        if not packing.is_rising(keys):
            rows, codes = np.divmod(np.unique(keys), n_classes)
        return packing.ends(np.bincount(rows, minlength=n)), codes.astype(np.int32)

    def _coded(self, flat: Any) -> Ints:
        """Return the code of each label, −1 where it is null or no class."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_dictionary(flat.type):
            flat = flat.dictionary_decode()
        is_text = pa.types.is_string(flat.type) or pa.types.is_large_string(flat.type)
        if not is_text and not pa.types.is_integer(flat.type):
            raise ValueError(f"labels are strings or integers, not {flat.type}")
        flat = flat.cast(pa.large_string() if is_text else pa.int64())
        if self.classes is None:
            for label in pc.unique(flat.drop_null()).to_pylist():
                self._known.setdefault(label)
            values = pa.array(list(self._known), flat.type)
        else:
            if is_text != (self.classes.dtype.kind == "U"):
                held, given = ("strings", "integers")[:: 1 if is_text else -1]
                raise ValueError(f"its labels are {held}, but the classes are {given}")
            if self._values is None:
                self._values = pa.array(self.classes.tolist(), flat.type)
            values = self._values
        codes = pc.index_in(flat, value_set=values).fill_null(-1)
        return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)

    def _refuse_unknown(self, flat: Any, codes: Ints, rows: Ints, faults: Faults) -> None:
        if self.classes is None and codes.size and codes.min() >= 0:
            return
        for i in np.flatnonzero(codes < 0):
            label = flat[int(i)].as_py()
            faults.add_one(
                int(rows[i]),
                "a candidate is null: leave it out"
                if label is None
                else f"the label {show(label)} is not among the "
                f"{0 if self.classes is None else self.classes.size} classes: correct it, or name "
                "it in `classes`",
            )
