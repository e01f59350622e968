-- What crawls have still to do. Not made from silos: a rebuilt catalog has none of it, and needs none.

CREATE TABLE frontier_runs (
    no       INTEGER PRIMARY KEY,
    run      BLOB NOT NULL UNIQUE,
    time     INTEGER NOT NULL,
    settings TEXT NOT NULL,                  -- JSON
    finished INTEGER NOT NULL DEFAULT 0
);

-- How many URLs of a run are in which state.
CREATE TABLE frontier_counts (
    run_no INTEGER NOT NULL REFERENCES frontier_runs (no),
    state  INTEGER NOT NULL,
    urls   INTEGER NOT NULL,
    PRIMARY KEY (run_no, state)
) WITHOUT ROWID;

-- A queue for each host of a run.
CREATE TABLE frontier_hosts (
    no     INTEGER PRIMARY KEY,
    run_no INTEGER NOT NULL REFERENCES frontier_runs (no),
    host   TEXT NOT NULL,
    ready  INTEGER NOT NULL DEFAULT 0        -- how many URLs could be asked for now
);
CREATE UNIQUE INDEX frontier_hosts_by_name ON frontier_hosts (run_no, host);
CREATE INDEX frontier_hosts_ready ON frontier_hosts (run_no, no) WHERE ready > 0;

CREATE TABLE frontier (
    no       INTEGER PRIMARY KEY,
    host_no  INTEGER NOT NULL REFERENCES frontier_hosts (no),
    run_no   INTEGER NOT NULL,
    identity BLOB NOT NULL,                  -- the first 16 bytes of the SHA-256 of what makes two URLs one, and why it is wanted
    url      TEXT NOT NULL,                  -- by the spelling that came first
    depth    INTEGER NOT NULL,
    role     TEXT NOT NULL,
    priority INTEGER NOT NULL,
    found_on INTEGER,                        -- the number of the page that led here
    state    INTEGER NOT NULL DEFAULT 0,     -- 0 ready, 1 claimed, 2 done, 3 waiting, 4 failed, 5 skipped
    tries    INTEGER NOT NULL DEFAULT 0,
    again_at INTEGER,                        -- when a waiting one may be asked for again
    reason   TEXT                            -- why it failed, or the rule by which it was skipped
);
CREATE UNIQUE INDEX frontier_by_identity ON frontier (run_no, identity);
CREATE INDEX frontier_ready ON frontier (host_no, priority DESC, no) WHERE state = 0;
CREATE INDEX frontier_claimed ON frontier (run_no, no) WHERE state = 1;
CREATE INDEX frontier_waiting ON frontier (run_no, again_at) WHERE state = 3;
