"""python -m quorate.labelstudio"""

import sys

from quorate.labelstudio.program import main

if __name__ == "__main__":
    sys.exit(main())
