"""A second reader of archives, made from docs/format.md and docs/format-index.md alone: checks every id, prints every object."""
import base64, hashlib, json, pathlib, struct, sys, zlib

root = pathlib.Path(sys.argv[1])
sha256 = lambda data: hashlib.sha256(data).hexdigest()


def silo_path(number):
    groups, rest = [], number // 100
    while rest:
        groups.insert(0, f"{rest % 100:02}")
        rest //= 100
    return root.joinpath("warc", str(len(groups)), *groups, f"{number:08}.warc.gz")


def records(data):
    offset = 0
    while offset < len(data):
        assert data[offset:offset + 10] == bytes.fromhex("1f8b0800000000000003"), offset
        member = zlib.decompressobj(31)
        plain = member.decompress(data[offset:])
        assert member.eof, offset
        head, _, rest = plain.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines)
        length = int(fields["Content-Length"])
        assert first == "WARC/1.1" and rest[length:] == b"\r\n\r\n", offset
        yield offset, fields, rest[:length]
        offset = len(data) - len(member.unused_data)


def derived_id(fields, block, whole):
    kind = fields["WARC-Type"]
    if kind in ("resource", "warcinfo"):
        return sha256(whole)
    if kind == "continuation":
        return sha256(block)
    if kind == "metadata":
        return sha256(f"{fields['WARC-Refers-To']}\n{sha256(whole)}\n".encode())
    return sha256(f"{kind}\n{fields['WARC-Target-URI']}\n{fields['WARC-Date']}\n{sha256(block)}\n".encode())


def whole_object(silos, number, fields, block):
    if fields.get("WARC-Segment-Number") != "1":
        return block
    segment = 1
    while True:
        segment += 1
        number += 1
        _, more, piece = silos[number][1]
        assert more["WARC-Segment-Origin-ID"] == fields["WARC-Record-ID"] and more["WARC-Segment-Number"] == str(segment)
        block += piece
        if "WARC-Segment-Total-Length" in more:
            assert int(more["WARC-Segment-Total-Length"]) == len(block)
            assert fields["WARC-Payload-Digest"] == "sha256:" + sha256(block)
            return block


def index_entries():
    for path in (root / "index").iterdir():
        data = path.read_bytes()
        if path.name.startswith("sorted"):
            mark, number, count, start = data[:8], *struct.unpack_from(">I", data, 8), *struct.unpack_from(">Q", data, 16), *struct.unpack_from(">Q", data, 40)
            assert mark == b"VVSORTED" and number == 1 and zlib.crc32(data[:60]) == struct.unpack_from(">I", data, 60)[0]
            entries = list(struct.iter_unpack(">QQ", data[start:]))
            assert len(entries) == count and entries == sorted(entries)
            yield from entries
        elif path.name.startswith("appendix"):
            while data:
                mark, number, count, zero, check = struct.unpack_from(">4sHHII", data)
                assert (mark, number, zero) == (b"VVAB", 1, 0) and zlib.crc32(data[:12] + data[16:16 + 16 * count]) == check
                yield from struct.iter_unpack(">QQ", data[16:16 + 16 * count])
                data = data[16 + 16 * count:]


silos, digests = [], []
while silo_path(len(silos)).exists():
    data = silo_path(len(silos)).read_bytes()
    silos.append(list(records(data)))
    digests.append("sha256:" + sha256(data))
found, objects = set(), {}
for number, silo in enumerate(silos):
    about = dict(line.split(": ", 1) for line in silo[0][2].decode().splitlines())
    assert silo[0][1]["WARC-Filename"] == silo_path(number).name and about["varve-silo"] == str(number)
    assert number == 0 or about["varve-previous-silo"] == digests[number - 1], number
    for offset, fields, block in silo:
        assert fields["WARC-Block-Digest"] == "sha256:" + sha256(block)
        whole = whole_object(silos, number, fields, block)
        name = derived_id(fields, block, whole)
        assert fields["WARC-Record-ID"] == f"<urn:sha256:{name}>", (number, offset)
        found.add((int(name[:16], 16), number << 44 | offset))
        if fields["WARC-Type"] in ("resource", "metadata"):
            objects[name] = (fields.get("Content-Type"), whole)
assert set(index_entries()) == found
for name, (kind, whole) in sorted(objects.items()):
    print(name, len(whole))
    if kind == "application/vnd.varve.tree":
        first, *entries = [json.loads(line) for line in whole.splitlines()]
        assert first == {"format": "varve-tree", "number": 1} and entries[0]["path"] == "." and entries[0]["kind"] == "folder"
        paths = [base64.b64decode(entry["path_base64"]) if "path_base64" in entry else entry["path"].encode() for entry in entries[1:]]
        assert [path.split(b"/") for path in paths] == sorted(path.split(b"/") for path in paths)
        for entry in entries:
            assert entry["kind"] != "file" or len(objects[entry["id"]][1]) == entry["size"], entry
