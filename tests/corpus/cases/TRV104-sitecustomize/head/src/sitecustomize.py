import atexit
