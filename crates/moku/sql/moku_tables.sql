-- The tables of a .moku site: those of Moku as it is today, and the three for scores that its design describes.
-- Ids are UUIDs as text, times are whole seconds since 1970.

CREATE TABLE IF NOT EXISTS meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS versions (
    id        TEXT PRIMARY KEY,
    parent_id TEXT REFERENCES versions (id),
    message   TEXT NOT NULL,
    author    TEXT,
    timestamp INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS snapshots (
    id          TEXT PRIMARY KEY,
    version_id  TEXT NOT NULL REFERENCES versions (id) ON DELETE CASCADE,
    status_code INTEGER NOT NULL,
    url         TEXT NOT NULL,
    file_path   TEXT NOT NULL,
    blob_id     TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    headers     TEXT
);

CREATE TABLE IF NOT EXISTS diffs (
    id              TEXT PRIMARY KEY,
    base_version_id TEXT REFERENCES versions (id),
    head_version_id TEXT NOT NULL REFERENCES versions (id),
    diff_json       TEXT NOT NULL,
    created_at      INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS scans (
    id         TEXT PRIMARY KEY,
    version_id TEXT NOT NULL REFERENCES versions (id),
    scan_data  TEXT NOT NULL,
    created_at INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS seq (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS endpoints (
    id                   TEXT PRIMARY KEY,
    raw_url              TEXT NOT NULL,
    canonical_url        TEXT NOT NULL UNIQUE,
    host                 TEXT NOT NULL,
    path                 TEXT NOT NULL,
    first_discovered_at  INTEGER NOT NULL,
    last_discovered_at   INTEGER NOT NULL,
    last_fetched_version TEXT,
    last_fetched_at      INTEGER,
    status               TEXT,
    discovery_source     TEXT,
    meta                 TEXT
);

CREATE TABLE IF NOT EXISTS score_results (
    id              TEXT PRIMARY KEY,
    snapshot_id     TEXT NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE,
    version_id      TEXT NOT NULL REFERENCES versions (id) ON DELETE CASCADE,
    url             TEXT NOT NULL,
    score           REAL NOT NULL,
    normalized      INTEGER NOT NULL,
    confidence      REAL NOT NULL,
    scoring_version TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    score_json      TEXT,
    matched_rules   TEXT,
    meta            TEXT,
    raw_features    TEXT
);

CREATE TABLE IF NOT EXISTS evidence_items (
    id              TEXT PRIMARY KEY,
    score_result_id TEXT NOT NULL REFERENCES score_results (id) ON DELETE CASCADE,
    evidence_uid    TEXT,
    item_key        TEXT NOT NULL,
    rule_id         TEXT,
    severity        TEXT NOT NULL,
    description     TEXT NOT NULL,
    value           TEXT,
    contribution    REAL
);

CREATE TABLE IF NOT EXISTS evidence_locations (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    evidence_item_id TEXT NOT NULL REFERENCES evidence_items (id) ON DELETE CASCADE,
    snapshot_id      TEXT NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE,
    location_type    TEXT,
    css_selector     TEXT,
    xpath            TEXT,
    regex_pattern    TEXT,
    file_path        TEXT,
    parent_dom_index INTEGER,
    dom_index        INTEGER,
    byte_start       INTEGER,
    byte_end         INTEGER,
    line_start       INTEGER,
    line_end         INTEGER,
    line             INTEGER,
    column           INTEGER,
    header_name      TEXT,
    cookie_name      TEXT,
    parameter_name   TEXT,
    note             TEXT
);

CREATE TABLE IF NOT EXISTS version_scores (
    id              TEXT PRIMARY KEY,
    version_id      TEXT NOT NULL REFERENCES versions (id) ON DELETE CASCADE,
    scoring_version TEXT NOT NULL,
    score           REAL NOT NULL,
    normalized      INTEGER,
    confidence      REAL,
    score_json      TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    UNIQUE (version_id, scoring_version)
);

CREATE TABLE IF NOT EXISTS version_evidence_locations (
    id              TEXT PRIMARY KEY,
    version_id      TEXT NOT NULL REFERENCES versions (id) ON DELETE CASCADE,
    evidence_id     TEXT NOT NULL,
    evidence_index  INTEGER NOT NULL,
    location_index  INTEGER NOT NULL,
    evidence_key    TEXT,
    selector        TEXT,
    xpath           TEXT,
    node_id         TEXT,
    file_path       TEXT,
    byte_start      INTEGER,
    byte_end        INTEGER,
    line_start      INTEGER,
    line_end        INTEGER,
    loc_confidence  REAL,
    evidence_json   TEXT NOT NULL,
    location_json   TEXT,
    scoring_version TEXT,
    created_at      INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS diff_attributions (
    id                           TEXT PRIMARY KEY,
    diff_id                      TEXT NOT NULL REFERENCES diffs (id) ON DELETE CASCADE,
    head_version_id              TEXT NOT NULL REFERENCES versions (id) ON DELETE CASCADE,
    version_evidence_location_id TEXT REFERENCES version_evidence_locations (id) ON DELETE SET NULL,
    evidence_id                  TEXT NOT NULL,
    evidence_location_index      INTEGER,
    chunk_index                  INTEGER NOT NULL,
    evidence_key                 TEXT,
    evidence_json                TEXT,
    location_json                TEXT,
    scoring_version              TEXT NOT NULL,
    contribution                 REAL NOT NULL,
    contribution_pct             REAL NOT NULL,
    note                         TEXT,
    created_at                   INTEGER NOT NULL
);
