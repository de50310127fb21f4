"""Inference: sampling, classes with probabilities, sets with a guarantee, log-likelihood."""

from gemsnn.inference.decoders import DECODERS, Answer, Decoder, as_decoder
from gemsnn.inference.evidence import PatternReader, class_patterns
from gemsnn.inference.guarantee import Guarantee, SetDecisions, SmallSet, calibrate
from gemsnn.inference.labels import LabelPrediction, predict_labels
from gemsnn.inference.likelihood import log_likelihood
from gemsnn.inference.prediction import AnytimePrediction, Decisions, Prediction, predict, predict_anytime
from gemsnn.inference.sampling import sample
from gemsnn.inference.sequences import recording_key
from gemsnn.inference.stopping import Confident, StoppingRule, Verdict, as_stopping_rule
from gemsnn.inference.temperature import Temperature
from gemsnn.inference.temperature_fit import fit_temperature, spikes_left_out
from gemsnn.inference.usual import UNLIKE, UNUSUAL, Usual, fit_usual
from gemsnn.model.votes import count_votes, decide, vote_probabilities

__all__ = [
    "DECODERS",
    "UNLIKE",
    "UNUSUAL",
    "Answer",
    "AnytimePrediction",
    "Confident",
    "Decisions",
    "Decoder",
    "Guarantee",
    "LabelPrediction",
    "PatternReader",
    "Prediction",
    "SetDecisions",
    "SmallSet",
    "StoppingRule",
    "Temperature",
    "Usual",
    "Verdict",
    "as_decoder",
    "as_stopping_rule",
    "calibrate",
    "class_patterns",
    "count_votes",
    "decide",
    "fit_temperature",
    "fit_usual",
    "log_likelihood",
    "predict",
    "predict_anytime",
    "predict_labels",
    "recording_key",
    "sample",
    "spikes_left_out",
    "vote_probabilities",
]
