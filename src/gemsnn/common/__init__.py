"""What several rooms share and none of them owns: it knows nothing of neural networks."""
