"""Learn classifiers online from ambiguous labels: the true label is *one of* these."""

__version__ = "0.1.0"
