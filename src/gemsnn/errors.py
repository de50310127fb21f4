"""Errors that users can cause. Each message names the file, field or shape, and says what to do."""


class GemsnnError(Exception):
    """Base of every error that gemsnn raises on purpose; the command line prints it and exits 2."""


class ConfigError(GemsnnError, ValueError):
    """A setting is unknown, impossible, or contradicts another one."""


class ShapeError(GemsnnError, ValueError):
    """An array does not have the shape that the network asks for."""


class DataError(GemsnnError, ValueError):
    """Data (an array, a recording, a prepared file) is not what it should be."""


class CheckpointError(GemsnnError, RuntimeError):
    """A checkpoint, model file or run directory cannot be used."""


class WriteError(GemsnnError, OSError):
    """A file cannot be written: the disk is full, the folder is not there or not yours."""
