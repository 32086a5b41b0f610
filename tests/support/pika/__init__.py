"""It answers as a real pika 3.3.6 was recorded to: what it takes, what it says of it, and where it stalls."""
