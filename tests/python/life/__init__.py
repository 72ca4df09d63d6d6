"""The life of a table, step by step: each step as lakebed does it, as Delta Spark does it, and as a
model does it."""
