"""Makes silos of very many tiny records, in an archive that was just made: tiny.py FOLDER COUNT

After docs/format.md, but that nothing is packed (deflate's stored blocks), which is quicker to make."""
import hashlib, pathlib, struct, sys, zlib

PER_SILO = 1_500_000
DATE = "2026-11-15T12:00:00Z"


def member(plain):
    assert len(plain) < 65536
    block = struct.pack("<BHH", 1, len(plain), len(plain) ^ 0xFFFF)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + block + plain + struct.pack("<II", zlib.crc32(plain), len(plain))


def record(kind, block, fields, content_type):
    digest = hashlib.sha256(block).hexdigest()
    fields = fields.replace("DIGEST", digest)
    return member(f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:sha256:{digest}>\r\nWARC-Date: {DATE}\r\n{fields}"
                  f"Content-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n")


folder, count = pathlib.Path(sys.argv[1], "warc", "0"), int(sys.argv[2])
folder.mkdir(exist_ok=True)
previous = ""
for number, first in enumerate(range(0, count, PER_SILO)):
    name = f"{number:08}.warc.gz"
    whole = hashlib.sha256()
    with open(folder / name, "wb", buffering=1 << 20) as silo:
        def write(packed):
            whole.update(packed)
            silo.write(packed)
        about = f"software: tiny\r\nvarve-silo: {number}\r\n{previous}".encode()
        write(record("warcinfo", about, f"WARC-Filename: {name}\r\nWARC-Block-Digest: sha256:DIGEST\r\n", "application/warc-fields"))
        for item in range(first, min(first + PER_SILO, count)):
            write(record("resource", str(item).encode(), "WARC-Target-URI: urn:sha256:DIGEST\r\n"
                         "WARC-Block-Digest: sha256:DIGEST\r\nWARC-Payload-Digest: sha256:DIGEST\r\n", "text/plain"))
    if first + PER_SILO < count:
        (folder / name).chmod(0o444)
    previous = f"varve-previous-silo: sha256:{whole.hexdigest()}\r\n"
