"""Using a trained network: sampling, decoding a class with its probability, log-likelihood."""

from gemsnn.inference.anytime import AnytimePrediction, Decisions, predict_anytime
from gemsnn.inference.decoders import DECODERS, Prediction, class_patterns, predict, predict_by_likelihood
from gemsnn.inference.likelihood import log_likelihood
from gemsnn.inference.sampling import sample
from gemsnn.model.votes import count_votes, decide, vote_probabilities

__all__ = [
    "DECODERS",
    "AnytimePrediction",
    "Decisions",
    "Prediction",
    "class_patterns",
    "count_votes",
    "decide",
    "log_likelihood",
    "predict",
    "predict_anytime",
    "predict_by_likelihood",
    "sample",
    "vote_probabilities",
]
