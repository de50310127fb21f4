"""What several rooms share; nothing here knows of neural networks."""
