"""Benches of the Python package: seeded tables, the cases, the engines, and the runner that
compares them.
"""
