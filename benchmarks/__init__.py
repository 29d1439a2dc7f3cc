"""Measurements of what the operator promises, beside named peers in the same run. Nothing of the product needs them."""
