"""Answers cases on standard input with what the snippet says of each."""

import json
import sys

from verify import verify

cases = json.load(sys.stdin)
print(json.dumps([verify(case["header"], bytes.fromhex(case["body"]), case["secret"], case["now"]) for case in cases]))
