-- What crawls have still to do. Not made from silos: a rebuilt catalog has none of it.

CREATE TABLE frontier_runs (
    no       INTEGER PRIMARY KEY,
    run      BLOB NOT NULL UNIQUE,
    time     INTEGER NOT NULL,
    settings TEXT NOT NULL                   -- JSON
);
