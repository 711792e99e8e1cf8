"""A program that takes a known amount of memory for each token; called with both, and with how it is to end."""

import sys
import time

if __name__ == "__main__":
    tokens, each, manner = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    held = bytearray(tokens * each)
    held[::4096] = b"x" * len(held[::4096])
    if manner == "stall":
        time.sleep(60)
    if manner == "fail":
        sys.exit("a fault of another kind")
    print(len(held))
