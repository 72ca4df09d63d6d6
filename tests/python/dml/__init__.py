"""The shared parts of the tests of DML: SQL expressions with their meaning in Python, a table as a
list of rows, and a reader of its log without lakebed.
"""
