# Compares two files as the original tracker does: diff-match-patch over lines first, then letters, then tidied.
# It may take as long as it takes, so that what it answers is whole.
import sys
from diff_match_patch import diff_match_patch

base, head = (open(path, encoding="utf-8", newline="").read() for path in sys.argv[1:3])
machine = diff_match_patch()
machine.Diff_Timeout = 3600
diffs = machine.diff_main(base, head, True)
machine.diff_cleanupSemantic(diffs)
print(sum(1 for operation, _ in diffs if operation))
