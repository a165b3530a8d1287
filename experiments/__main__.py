"""``python -m experiments``: the command line, as `schedlab` is."""

import sys

try:
    from experiments.cli.main import main

    sys.exit(main())
except KeyboardInterrupt:  # while the command line itself was being imported
    sys.exit(130)
