import sys

from shop import show

show(int(sys.argv[1]))
