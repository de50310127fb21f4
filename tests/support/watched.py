"""A calibrated model that looks at a small sensor, with class names that would do harm if they could."""

import base64

import numpy as np

import gemsnn
from gemsnn.events import Preprocessing
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import DecoderSettings, Model

HOSTILE = ("</script><script>window.harm = 1</script>", "<img src=x onerror='window.harm = 2'>", "\x1b[31mred & {raw}")
CHOICES = Preprocessing(sensor_size=(8, 6), bin_us=10_000, n_steps=30)


def made_up_model(preprocessing=CHOICES, classes=HOSTILE, n_inputs=48, n_hidden=9, n_steps=30):
    network = gemsnn.Network.fully_connected(n_inputs=n_inputs, n_hidden=n_hidden, n_visible=len(classes))
    rng = np.random.default_rng(5)
    weights = network.init(seed=0)
    synaptic = weights.synaptic + 1.5 * rng.standard_normal(weights.synaptic.shape) * (weights.synaptic != 0)
    parameters = gemsnn.Parameters(synaptic.astype(weights.synaptic.dtype), weights.somatic, weights.bias)
    how = DecoderSettings(kind="per-step", compartments=2)
    return Model(network, parameters, classes, how, n_steps, 0, preprocessing)


def made_up_spikes(seed=0, n_steps=30, width=96, rate=0.06):
    return SpikeList.from_array(np.random.default_rng(seed).random((n_steps, width)) < rate, "made up")


def calibrated(model, planes=2):
    """On recordings whose class is nearly always what the model says, so that sets become small."""
    n = model.network.n_inputs
    inputs = [made_up_spikes(100 + i, width=planes * n).to_array(n) for i in range(60)]
    said = model.predict(np.stack(inputs)).label.tolist()
    said[:2] = [next(label for label in model.classes if label != one) for one in said[:2]]
    return model.calibrate(inputs, said, alpha=0.2, checkpoints=5)


def unpacked(text):
    """As player.js reads it."""
    found, value, shift = [], 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value = shift = 0
    return found


def frames_of(text):
    flat, found = unpacked(text), []
    while flat:
        count, *flat = flat
        found.append(np.cumsum(flat[:count]).tolist())
        flat = flat[count:]
    return found
