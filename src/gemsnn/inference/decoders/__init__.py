"""From evidence to a class with its probability: one decoder per file, and the list of all decoders."""

from gemsnn.common import kinds
from gemsnn.common.words import shown
from gemsnn.errors import ConfigError
from gemsnn.inference.decoders.decoder import Answer, Decoder
from gemsnn.inference.decoders.likelihood import Likelihood
from gemsnn.inference.decoders.per_step import PerStep
from gemsnn.inference.decoders.vote import Vote

DECODERS: dict[str, Decoder] = {decoder.name: decoder for decoder in (Vote(), Likelihood(), PerStep())}

__all__ = ["DECODERS", "Answer", "Decoder", "as_decoder", "register"]


def as_decoder(decoder: str | Decoder) -> Decoder:
    """The decoder with that name; a decoder object is returned unchanged."""
    if isinstance(decoder, str):
        if decoder not in DECODERS:
            known = ", ".join(map(repr, DECODERS))
            raise ConfigError(
                f"unknown decoder {shown(decoder)}: choose one of {known}; a decoder of your own must be registered "
                "first, with gemsnn.inference.decoders.register"
            )
        return DECODERS[decoder]
    missing = [name for name in ("name", "free", "start", "update", "answer") if not hasattr(decoder, name)]
    if missing:
        raise ConfigError(
            f"decoder {decoder!r} has no {', '.join(missing)}: give {', '.join(map(repr, DECODERS))}, or an object as "
            "gemsnn.inference.Decoder describes"
        )
    return decoder


def register(name: str, decoder: type[Decoder] | Decoder) -> None:
    """Make a decoder of your own available by name in settings, like the built-in ones.

    Parameters
    ----------
    name
        The decoder's ``name``. Models that use it store this name.
    decoder
        A decoder, or a class that is called without arguments.
    """
    made = as_decoder(decoder() if isinstance(decoder, type) else decoder)
    if made.name != name:
        raise ConfigError(f"the decoder's name is {made.name!r}: register it by that name, not as {name!r}")
    kinds.register("decoder", DECODERS, name, made, type)
