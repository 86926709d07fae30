"""What tests of several packages share."""
