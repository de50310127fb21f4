"""The classifier for tables: scikit-learn's own checks know rows of numbers, not sequences of spikes."""

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from gemsnn import SpikingClassifier

STEPS = 8


class FlatClassifier(SpikingClassifier):
    """Takes (n, n_features) numbers: a feature spikes for as long as a level that rises with time is below it."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = True, False
        return tags

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.low_, self.high_ = X.min(axis=0), X.max(axis=0)
        return super().fit(self.spikes(X), y, sample_weight)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        first = not hasattr(self, "low_")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=first)
        if first:
            self.low_, self.high_ = X.min(axis=0), X.max(axis=0)
        return super().partial_fit(self.spikes(X), y, classes, sample_weight)

    def predict(self, X):
        return super().predict(self.checked(X))

    def predict_proba(self, X):
        return super().predict_proba(self.checked(X))

    def checked(self, X):
        check_is_fitted(self, "model_")
        return self.spikes(validate_data(self, X, dtype=np.float64, reset=False))

    def spikes(self, X):
        """(n, STEPS, n_features)"""
        shares = (X - self.low_) / np.maximum(self.high_ - self.low_, 1e-9)
        return shares[:, None, :] > ((np.arange(STEPS) + 0.5) / STEPS)[:, None]
