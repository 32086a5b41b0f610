"""What the service is told, and how it gets there."""
