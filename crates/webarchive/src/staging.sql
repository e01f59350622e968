-- What was read from the files, until the catalog is made. Ids of records are 16 bytes of their SHA-256.
CREATE TABLE versions (
    no      INTEGER PRIMARY KEY,
    key     TEXT NOT NULL UNIQUE,
    message TEXT NOT NULL,
    author  TEXT
);
CREATE TABLE captures (
    no           INTEGER PRIMARY KEY,
    key          BLOB NOT NULL UNIQUE,       -- the id that varve gives the record
    version      INTEGER NOT NULL,
    file         INTEGER NOT NULL,           -- of records
    offset       INTEGER NOT NULL,
    ordinal      INTEGER NOT NULL,           -- the number of records before it at the same offset
    id           BLOB,
    url          TEXT NOT NULL,
    time         INTEGER NOT NULL,           -- microseconds since 1970
    status       INTEGER NOT NULL,
    head         BLOB NOT NULL,
    has_head     INTEGER NOT NULL,
    decodes      INTEGER NOT NULL,
    body         BLOB NOT NULL,
    length       INTEGER NOT NULL,
    truncated    INTEGER NOT NULL,
    payload      TEXT,                       -- the payload digest, as the record has it
    concurrent   BLOB,
    is_revisit   INTEGER NOT NULL,
    not_modified INTEGER NOT NULL,
    refers_to    BLOB,
    refers_url   TEXT,
    refers_time  INTEGER,
    original     INTEGER                     -- the number of the capture that a revisit repeats
);
-- The ids of requests with a method other than GET, and of the records written with them.
CREATE TABLE other_methods (
    id BLOB PRIMARY KEY
) WITHOUT ROWID;
