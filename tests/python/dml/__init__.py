"""What the tests of changes of rows share: SQL with its meaning in Python, a table as a list of rows, and its log read without lakebed."""
