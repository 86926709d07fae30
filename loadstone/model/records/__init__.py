"""What crosses a seam of the house, typed once."""
