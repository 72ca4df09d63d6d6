"""Servers that tests start for themselves: an S3 store, and a proxy that disturbs what goes to it. All of them listen on this machine only.

`gateway` is the store, `weather` a proxy with bad networks; both are Go programs, which `programs` builds into the cache and runs. `relay` spoils
one request.
"""
