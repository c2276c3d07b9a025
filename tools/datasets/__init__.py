"""Prepares the public data sets that the papers, the tests and the benchmarks use.

    python3 -m datasets NAME... [--mirror DIR] [--out DIR] [--force]

(with PYTHONPATH=tools). Originals come from a mirror, a folder that holds them as sources.py names them, or from their
official addresses; either way their checksums and the published counts are checked. What is written is the same to the
byte on every machine.
"""

# Raised whenever a set is written in another way, so that sets of an older version are prepared anew.
VERSION = 1
