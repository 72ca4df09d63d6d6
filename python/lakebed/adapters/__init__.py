"""One module for each library whose data lakebed takes or returns. It imports the library when
used.
"""
