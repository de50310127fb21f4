"""Export of trained models: as C for microcontrollers and other devices, as NIR for other simulators."""

from gemsnn.export.c_program import CProgram, WeightKind, export_c
from gemsnn.export.fixed_point import FixedPoint, predict_fixed
from gemsnn.export.nir_graph import read_nir, write_nir

__all__ = ["CProgram", "FixedPoint", "WeightKind", "export_c", "predict_fixed", "read_nir", "write_nir"]
