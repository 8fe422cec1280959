"""python -m halyard"""

from ._command import main

main()
