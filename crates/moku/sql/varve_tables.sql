-- What varve knows about a .moku site and Moku does not. Moku never looks at these tables.

CREATE TABLE IF NOT EXISTS varve_state (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS varve_tags (
    name       TEXT PRIMARY KEY,
    version_id TEXT NOT NULL,
    time       INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS varve_versions (
    version_id TEXT PRIMARY KEY,
    run        TEXT,
    holds_run  INTEGER NOT NULL,
    record     BLOB
);

-- Versions of Moku that a writer of varve has found. Later ones may show that HEAD was left behind.
CREATE TABLE IF NOT EXISTS varve_seen_versions (
    version_id TEXT PRIMARY KEY
) WITHOUT ROWID;

-- The parents that versions had when they were committed, where retention has given them others.
CREATE TABLE IF NOT EXISTS varve_parents (
    version_id TEXT PRIMARY KEY,
    parent_id  TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS varve_snapshots (
    snapshot_id TEXT PRIMARY KEY,
    record      BLOB,
    length      INTEGER,
    truncated   INTEGER NOT NULL
);

-- Captures of runs that have not become versions: Moku has no place for a snapshot without a version.
CREATE TABLE IF NOT EXISTS varve_run_snapshots (
    place       INTEGER PRIMARY KEY,
    run         TEXT NOT NULL,
    id          TEXT NOT NULL UNIQUE,
    status_code INTEGER NOT NULL,
    url         TEXT NOT NULL,
    file_path   TEXT NOT NULL,
    blob_id     TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    headers     TEXT,
    record      BLOB,
    length      INTEGER,
    truncated   INTEGER NOT NULL
);

-- Attributions whose diff is not kept: Moku ties each to a diff.
CREATE TABLE IF NOT EXISTS varve_diff_attributions (
    place                   INTEGER PRIMARY KEY,
    base_version_id         TEXT,
    head_version_id         TEXT NOT NULL,
    evidence_id             TEXT NOT NULL,
    evidence_location_index INTEGER,
    chunk_index             INTEGER NOT NULL,
    evidence_key            TEXT,
    evidence_json           TEXT,
    location_json           TEXT,
    scoring_version         TEXT NOT NULL,
    contribution            REAL NOT NULL,
    contribution_pct        REAL NOT NULL,
    note                    TEXT,
    created_at              INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS varve_checks (
    id          TEXT PRIMARY KEY,
    run         TEXT NOT NULL,
    time        INTEGER NOT NULL,
    message     TEXT NOT NULL,
    author      TEXT,
    record      BLOB NOT NULL,
    ok          INTEGER NOT NULL,
    changed     INTEGER NOT NULL,
    broken      INTEGER NOT NULL,
    unreachable INTEGER NOT NULL,
    skipped     INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS varve_verdicts (
    url      TEXT NOT NULL,
    time     INTEGER NOT NULL,
    verdict  TEXT NOT NULL,
    status   INTEGER NOT NULL,
    json     TEXT NOT NULL,
    check_id TEXT NOT NULL,
    PRIMARY KEY (url, time)
) WITHOUT ROWID;
