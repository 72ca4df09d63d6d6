"""Benches of lakebed in Spark: TPC-H and TPC-DS through Spark's own Parquet reader, Delta Spark and
lakebed, and a bulk load.
"""
