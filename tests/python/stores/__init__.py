"""Servers that tests start: an S3 store, and a proxy that disturbs the traffic with it. All of them
listen on this machine only.

`gateway` is the store, and `weather` is a proxy that simulates bad networks. Both are Go programs,
which `programs` builds into the cache and runs. `relay` spoils one request.
"""
