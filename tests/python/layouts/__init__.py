"""The shared parts of the tests of OPTIMIZE."""
