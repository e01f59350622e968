-- Where the records of captures are. The catalog beside this database has everything else.
CREATE TABLE state (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
-- The files on the disk.
CREATE TABLE files (
    no       INTEGER PRIMARY KEY,
    path     BLOB NOT NULL,                  -- from the root of the archive; empty for an archive of one file
    size     INTEGER NOT NULL,
    modified INTEGER NOT NULL,               -- nanoseconds since 1970
    ends     BLOB NOT NULL                   -- SHA-256 of the first and last bytes
);
-- Files of records: whole files, and members of packages.
CREATE TABLE record_files (
    no       INTEGER PRIMARY KEY,
    file     INTEGER NOT NULL,
    name     TEXT NOT NULL,
    package  TEXT,
    start    INTEGER,                        -- NULL for an inflated member
    length   INTEGER,                        -- NULL for a whole file
    inflated TEXT,                           -- the name of the inflated member in this folder
    format   INTEGER NOT NULL                -- 0 for WARC, else the version of ARC
);
CREATE TABLE records (
    key      BLOB PRIMARY KEY,
    file     INTEGER NOT NULL,
    offset   INTEGER NOT NULL,
    ordinal  INTEGER NOT NULL,
    has_head INTEGER NOT NULL,
    decodes  INTEGER NOT NULL,
    revisit  INTEGER NOT NULL,               -- 1 for a revisit, 2 for one that says only that nothing changed
    original BLOB                            -- the key of the record that a revisit repeats
) WITHOUT ROWID;
CREATE TABLE findings (
    no      INTEGER PRIMARY KEY,
    file    TEXT NOT NULL,
    offset  INTEGER,
    rule    TEXT NOT NULL,
    is_loss INTEGER NOT NULL,
    message TEXT NOT NULL,
    of_records INTEGER NOT NULL
);
