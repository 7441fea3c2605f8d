"""Whole files through a learner, a batch at a time: training, prediction, evaluation."""
