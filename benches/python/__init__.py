"""Benches of the Python door: seeded tables, the cases, the engines, and the runner that compares them."""
