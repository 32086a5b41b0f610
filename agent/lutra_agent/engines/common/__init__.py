"""What every engine family is asked for, and what several of them share."""
