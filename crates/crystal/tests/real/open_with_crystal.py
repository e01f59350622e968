#!/usr/bin/env python3
"""Opens Crystal projects with Crystal itself, and compares what it serves with what is stored.

    VARVE_CRYSTAL_PROJECTS=/tmp/projects cargo test -p varve-crystal --test suite
    git clone https://github.com/davidfstr/Crystal-Web-Archiver /tmp/crystal
    python3.13 crates/crystal/tests/real/open_with_crystal.py --source /tmp/crystal /tmp/projects/*

The first line has the tests keep a copy of every project that they make. Crystal needs Python 3.13 or
later; its libraries, but not wxPython, are installed into a virtual environment beside its source.
Every project is opened twice, as a copy: only to read, and to write. Each time the newest revision of
each URL is requested. The exit code is 1 if Crystal refuses a project or does not serve a body.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import venv

LIBRARIES = (
    "beautifulsoup4 tinycss2 appdirs colorama tzlocal<5 lxml tqdm sortedcontainers psutil<6 typing-extensions "
    "truststore send2trash jaraco.text wakepy<0.10 trycast PySocks boto3 s3-parse-url==0.4.0 apsw"
).split()
SERVER_START = re.compile(r"Server started at: (http://\S+)")
START_SECONDS = 60


def interpreter(source):
    """The Python of the virtual environment, made if it is not there."""
    folder = source / "venv-of-varve"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.check_call([python, "-m", "pip", "install", "-q", "--only-binary", ":all:", *LIBRARIES])
    return python


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def get(url):
    """Status and body. Crystal ends the connection without a status where a body is missing."""
    opener = urllib.request.build_opener(NoRedirect)
    try:
        with opener.open(url, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def newest_revisions(project):
    """URL, error and metadata of the newest revision of each resource."""
    database = sqlite3.connect(f"file:{project}/database.sqlite?mode=ro", uri=True)
    rows = database.execute(
        "select r.url, v.error, v.metadata from resource r join resource_revision v on v.id = "
        "(select max(id) from resource_revision where resource_id = r.id) order by r.url"
    ).fetchall()
    database.close()
    return rows


def problems_of(project, python, source, is_writing):
    mode = "--no-readonly" if is_writing else "--readonly"
    command = [python, "-m", "crystal", "--headless", "--serve", mode, "--port", "2999", str(project)]
    environment = dict(os.environ, PYTHONPATH=str(source / "src"))
    crystal = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    signal.alarm(START_SECONDS)
    said, origin = [], None
    for line in crystal.stdout:
        said.append(line)
        started = SERVER_START.search(line)
        if started:
            origin = started.group(1).rstrip("/")
            break
    signal.alarm(0)
    try:
        if origin is None:
            return ["it was not opened: " + "".join(said[-3:]).strip()]
        return [problem for row in newest_revisions(project) for problem in problems_of_row(origin, *row)]
    finally:
        crystal.send_signal(signal.SIGINT)
        try:
            crystal.wait(10)
        except subprocess.TimeoutExpired:
            crystal.kill()
            crystal.wait()


def problems_of_row(origin, url, error, metadata):
    scheme, mark, rest = url.partition("://")
    if not mark:
        # Its server has no address for such a URL.
        return []
    try:
        status, body = get(f"{origin}/_/{scheme}/{rest}")
    except Exception as failure:
        return [f"{url}: {failure!r}"]
    if error != "null":
        return [] if status == 400 else [f"{url}: a failed download is served with {status}"]
    metadata = json.loads(metadata)
    expected = metadata["status_code"] if metadata else 200
    # A 304 stands for an older revision.
    if status != expected and expected != 304:
        return [f"{url}: {status} instead of {expected}"]
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, required=True, help="a checkout of Crystal")
    parser.add_argument("projects", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    python = interpreter(arguments.source)
    count = 0
    for original in arguments.projects:
        for is_writing in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                project = pathlib.Path(folder) / original.name
                shutil.copytree(original, project)
                for problem in problems_of(project, python, arguments.source, is_writing):
                    count += 1
                    print(f"{original.name}, {'to write' if is_writing else 'to read'}: {problem}")
    print(f"{len(arguments.projects)} projects, {count} problems")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
