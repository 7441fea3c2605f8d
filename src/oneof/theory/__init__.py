"""Public names of the theory: margins, bounds, separability, the offline optimum, streams."""

from oneof.theory.bounds import StreamConstants, mistake_bound, regret_bound, stream_constants
from oneof.theory.margins import avg_margins, max_margins
from oneof.theory.optimum import OfflineOptimum, offline_optimum
from oneof.theory.separation import Separability, separability
from oneof.theory.streams import Stream, make_stream

__all__ = [
    "OfflineOptimum",
    "Separability",
    "Stream",
    "StreamConstants",
    "avg_margins",
    "make_stream",
    "max_margins",
    "mistake_bound",
    "offline_optimum",
    "regret_bound",
    "separability",
    "stream_constants",
]
