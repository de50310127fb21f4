"""What a network is: filters, topology, network, parameters."""

from gemsnn.model.filters import Exponential, Filter, RaisedCosine
from gemsnn.model.network import Network
from gemsnn.model.parameters import Parameters
from gemsnn.model.spikes import Circuit
from gemsnn.model.topology import Topology

__all__ = ["Circuit", "Exponential", "Filter", "Network", "Parameters", "RaisedCosine", "Topology"]
