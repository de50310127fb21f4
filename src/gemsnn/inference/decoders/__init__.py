"""From evidence to a class with its probability: one decoder a file, and the one list that names them."""

from gemsnn.errors import ConfigError
from gemsnn.inference.decoders.decoder import Answer, Decoder
from gemsnn.inference.decoders.likelihood import Likelihood
from gemsnn.inference.decoders.per_step import PerStep
from gemsnn.inference.decoders.vote import Vote
from gemsnn.model.checks import one_of

DECODERS: dict[str, Decoder] = {decoder.name: decoder for decoder in (Vote(), Likelihood(), PerStep())}

__all__ = ["DECODERS", "Answer", "Decoder", "as_decoder"]


def as_decoder(decoder: str | Decoder) -> Decoder:
    """The decoder of that name, or the user's own as it is."""
    if isinstance(decoder, str):
        return DECODERS[one_of("decoder", decoder, tuple(DECODERS))]
    missing = [name for name in ("name", "free", "start", "update", "answer") if not hasattr(decoder, name)]
    if missing:
        raise ConfigError(
            f"decoder {decoder!r} has no {', '.join(missing)}: give {', '.join(map(repr, DECODERS))}, or an object as "
            "gemsnn.inference.Decoder describes"
        )
    return decoder
