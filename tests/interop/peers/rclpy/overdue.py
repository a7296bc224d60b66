"""Spins its node with a deadline in the past, and prints `spun`."""
from common import node, print_line

with node("overdue") as (_, spin_once):
    spin_once(-1)
    print_line("spun")
