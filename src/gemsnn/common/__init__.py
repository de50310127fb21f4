"""What several rooms share; knows nothing of neural networks."""
