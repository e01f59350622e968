# Compares two files, or all files of two folders, as the original tracker does: diff-match-patch over lines first, then
# letters, then tidied. It may take as long as it takes, so that what it answers is whole.
import pathlib
import sys

from diff_match_patch import diff_match_patch


def changes(base, head):
    """How many pieces differ."""
    base, head = (path.read_bytes().decode(errors="replace") for path in (base, head))
    machine = diff_match_patch()
    machine.Diff_Timeout = 3600
    diffs = machine.diff_main(base, head, True)
    machine.diff_cleanupSemantic(diffs)
    return sum(1 for operation, _ in diffs if operation)


base, head = map(pathlib.Path, sys.argv[1:3])
if base.is_dir():
    for path in sorted(path for path in base.rglob("*") if path.is_file()):
        print(changes(path, head / path.relative_to(base)))
else:
    print(changes(base, head))
