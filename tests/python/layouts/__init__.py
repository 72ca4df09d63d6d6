"""What the tests of OPTIMIZE share."""
