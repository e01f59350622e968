-- The tables of a catalog. Numbers are used inside, so that a capture costs some sixty bytes; the names and the
-- columns that people know from a .moku are views over them (views.sql).
--
-- Times are microseconds since 1970, in UTC. Ids of versions and runs are 16 bytes, of bodies and records 32.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- What captures belong to: a version, or a run that has not become one. A run becomes a version by getting its id,
-- so that finishing one costs the same whatever it holds.
CREATE TABLE owners (
    no       INTEGER PRIMARY KEY,
    id       BLOB,                           -- of the version; none for a run
    run      BLOB,                           -- whose captures it holds
    named    BLOB,                           -- the run that it names, where another version had named it before
    by_run   INTEGER NOT NULL DEFAULT 0,     -- whether it began as a run: the ids of its captures come from that
    parent   BLOB,
    message  TEXT,
    author   TEXT,
    time     INTEGER,
    record   BLOB,
    written  INTEGER,                        -- counts versions as they were written
    captures INTEGER NOT NULL DEFAULT 0,
    line     INTEGER,                        -- the owner that began the line it is part of, if it is part of one
    step     INTEGER                         -- its place in the line, from 0
);
CREATE UNIQUE INDEX owners_by_id ON owners (id) WHERE id IS NOT NULL;
CREATE UNIQUE INDEX owners_by_time ON owners (time, written) WHERE id IS NOT NULL;
CREATE UNIQUE INDEX owners_by_written ON owners (written) WHERE written IS NOT NULL;
CREATE INDEX owners_by_parent ON owners (parent) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX owners_by_run ON owners (run) WHERE run IS NOT NULL;
CREATE INDEX owners_open ON owners (no) WHERE id IS NULL;
CREATE UNIQUE INDEX owners_by_line ON owners (line, step) WHERE line IS NOT NULL;

-- A URL and where its pages lie in a working tree. A URL that was kept under two paths has two rows.
CREATE TABLE urls (
    no      INTEGER PRIMARY KEY,
    url_key INTEGER NOT NULL,                -- of the address, which all spellings share; two addresses may share one, so texts are compared
    url     TEXT NOT NULL,
    path    TEXT NOT NULL
);
CREATE UNIQUE INDEX urls_by_path ON urls (path, url);
CREATE INDEX urls_by_key ON urls (url_key);
CREATE INDEX urls_by_url ON urls (url);

-- Headers that many answers share, each set once.
CREATE TABLE headers (
    no     INTEGER PRIMARY KEY,
    digest INTEGER NOT NULL,                 -- the first eight bytes of the SHA-256 of the JSON
    json   TEXT NOT NULL
);
CREATE INDEX headers_by_digest ON headers (digest);

CREATE TABLE captures (
    no          INTEGER PRIMARY KEY,
    owner_no    INTEGER NOT NULL REFERENCES owners (no),
    url_no      INTEGER NOT NULL REFERENCES urls (no),
    time        INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    headers_no  INTEGER REFERENCES headers (no),
    own_headers TEXT,                        -- headers that change from answer to answer: clocks, tags, caches
    body        NOT NULL,                    -- 32 bytes, or the number of the capture of this URL that has them
    length      INTEGER,
    record,                                  -- 32 bytes, none, or 0 where they are those of the body
    truncated   INTEGER NOT NULL DEFAULT 0,
    id          BLOB                         -- only where it does not follow from the rest
);
CREATE INDEX captures_by_url ON captures (url_no, time);
CREATE INDEX captures_by_owner ON captures (owner_no, url_no);
CREATE UNIQUE INDEX captures_by_id ON captures (id) WHERE id IS NOT NULL;

-- A line is a row of versions, each the child of the one before, that list all their pages. A page that stays as it
-- is has one row in `captures`, of the version that it came with, and one here, whatever number of versions hold it.
-- Only the newest line goes on, and each of its versions is newer than all others: so the spans of a URL follow
-- one another in time, and never overlap.
CREATE TABLE spans (
    line       INTEGER NOT NULL,
    url_no     INTEGER NOT NULL,
    first      INTEGER NOT NULL,             -- the step that it came with
    until      INTEGER NOT NULL,             -- the last step that it is in; a very large one as long as it stays
    time       INTEGER NOT NULL,             -- of the first version
    capture_no INTEGER NOT NULL REFERENCES captures (no),
    PRIMARY KEY (line, url_no, first)
) WITHOUT ROWID;
CREATE INDEX spans_by_url ON spans (url_no, time) WHERE until > first;

CREATE TABLE tags (
    name    TEXT PRIMARY KEY,
    version BLOB NOT NULL,
    time    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX tags_by_version ON tags (version);

-- Diffs that were computed. They can be computed again, and are no part of history.
CREATE TABLE kept_diffs (
    no   INTEGER PRIMARY KEY,
    base BLOB NOT NULL,                      -- empty for the empty version
    head BLOB NOT NULL,
    json TEXT NOT NULL,
    time INTEGER NOT NULL
);
CREATE UNIQUE INDEX kept_diffs_by_pair ON kept_diffs (head, base);
CREATE INDEX kept_diffs_by_base ON kept_diffs (base);
CREATE INDEX kept_diffs_by_time ON kept_diffs (time);

-- Scores, each with its evidence and its attributions as JSON arrays: they are written and read together.
CREATE TABLE scores (
    no              INTEGER PRIMARY KEY,
    version         BLOB NOT NULL,
    scoring_version TEXT NOT NULL,
    score           REAL NOT NULL,
    normalized      INTEGER NOT NULL,
    confidence      REAL NOT NULL,
    json            TEXT NOT NULL,
    time            INTEGER NOT NULL,
    evidence        TEXT NOT NULL,
    attributions    TEXT NOT NULL
);
CREATE UNIQUE INDEX scores_by_version ON scores (version, scoring_version);

CREATE TABLE verdicts (
    url     TEXT NOT NULL,
    time    INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    status  INTEGER NOT NULL,
    json    TEXT NOT NULL,
    PRIMARY KEY (url, time)
) WITHOUT ROWID;

-- What was taken out of the silos, as its tombstone says it.
CREATE TABLE removals (
    tombstone_record BLOB PRIMARY KEY,                -- the record of the tombstone
    record  BLOB NOT NULL,                   -- the record that is gone
    url     TEXT,                            -- of an answer that is gone, with nothing in its place
    time    INTEGER NOT NULL,
    json    TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX removals_by_record ON removals (record);
CREATE INDEX removals_by_url ON removals (url, time) WHERE url IS NOT NULL;
