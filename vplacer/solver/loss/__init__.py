"""What is left without a place when hosts are lost."""
