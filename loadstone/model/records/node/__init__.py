"""What the desk and ``stone node`` send each other. Sizes are in bytes, times in seconds where the name has no unit."""
