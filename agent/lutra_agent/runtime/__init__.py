"""The running agent: its loop, the windows it measures, and the composition root."""
