"""Turns its node until a deadline that has passed, and prints `turned`."""
from common import node, say

with node("overdue") as (_, turn):
    turn(-1)
    say("turned")
