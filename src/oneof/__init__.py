"""Learn classifiers online from ambiguous labels: the true label is *one of* these."""

from oneof.candidates import CandidateSets
from oneof.estimators import AvgPegasos, AvgPerceptron, MaxPegasos, MaxPerceptron

__version__ = "0.1.0"

__all__ = ["AvgPegasos", "AvgPerceptron", "CandidateSets", "MaxPegasos", "MaxPerceptron"]
