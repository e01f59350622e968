-- The queue of each crawl. It is not made from silos: a rebuilt catalog has none of it, and needs none.

CREATE TABLE frontier_runs (
    no       INTEGER PRIMARY KEY,
    run      BLOB NOT NULL UNIQUE,
    time     INTEGER NOT NULL,
    settings TEXT NOT NULL,                  -- JSON
    finished INTEGER NOT NULL DEFAULT 0
);

-- The workers of a run. The claims of a worker can be claimed by others once its lease has expired.
CREATE TABLE frontier_workers (
    no          INTEGER PRIMARY KEY,
    run_no      INTEGER NOT NULL REFERENCES frontier_runs (no),
    worker      BLOB NOT NULL,
    lease_until INTEGER NOT NULL
);
CREATE UNIQUE INDEX frontier_workers_by_id ON frontier_workers (run_no, worker);

-- The number of URLs of a run in each state.
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
    ready  INTEGER NOT NULL DEFAULT 0        -- the number of URLs that can be claimed now
);
CREATE UNIQUE INDEX frontier_hosts_by_name ON frontier_hosts (run_no, host);
CREATE INDEX frontier_hosts_ready ON frontier_hosts (run_no, no) WHERE ready > 0;

CREATE TABLE frontier (
    no        INTEGER PRIMARY KEY,
    host_no   INTEGER NOT NULL REFERENCES frontier_hosts (no),
    run_no    INTEGER NOT NULL,
    page      BLOB NOT NULL,                 -- the first 16 bytes of the SHA-256 of the page identity
    url       TEXT NOT NULL,                 -- the spelling of the page that came first
    kind      INTEGER NOT NULL,              -- why: 0 page, 1 embed, 2 frame, 3 sitemap, 4 robots.txt
    depth     INTEGER NOT NULL,              -- links from a seed
    chain     INTEGER NOT NULL,              -- embeddings, frames or sitemaps that lead to it
    redirects INTEGER NOT NULL,              -- redirects that lead to it
    requeued  INTEGER NOT NULL,              -- 1 if it was queued again at a smaller distance
    priority  INTEGER NOT NULL,
    found_on  INTEGER,                       -- the number of the page that links to it
    state     INTEGER NOT NULL DEFAULT 0,    -- 0 ready, 1 claimed, 2 done, 3 waiting, 4 failed, 5 skipped
    worker_no INTEGER,                       -- the worker that claimed it
    tries     INTEGER NOT NULL DEFAULT 0,
    retry_at  INTEGER,                       -- when a waiting URL is ready again
    message   TEXT                           -- for people: why it failed, or the rule that skipped it
);
CREATE UNIQUE INDEX frontier_by_page ON frontier (run_no, page, kind) WHERE requeued = 0;
CREATE UNIQUE INDEX frontier_requeued ON frontier (run_no, page, kind, depth, chain) WHERE requeued = 1;
CREATE INDEX frontier_ready ON frontier (host_no, priority DESC, no) WHERE state = 0;
CREATE INDEX frontier_claimed ON frontier (worker_no) WHERE state = 1;
CREATE INDEX frontier_waiting ON frontier (run_no, retry_at) WHERE state = 3;
