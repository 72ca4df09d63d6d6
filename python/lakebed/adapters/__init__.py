"""One module for each library with data that lakebed takes or returns. A module imports its library
when it is used.
"""
