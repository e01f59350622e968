-- The tables of a catalog. Rows refer to each other by number, so that a capture takes about sixty bytes.
-- The names and columns that users know from a .moku are views over them (views.sql).
--
-- Times are microseconds since 1970, in UTC. Ids of versions and runs are 16 bytes, of bodies and records 32.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The owner of captures: a version, or a crawl run that has not become one. A run becomes a version when its row
-- gets the version's id, so that finishing a run of any size is one update. Versions are numbered in the order of
-- writing, so a parent has a smaller number than its children.
CREATE TABLE owners (
    no        INTEGER PRIMARY KEY,
    id        BLOB,                          -- of the version; none for a run
    run       BLOB,                          -- the crawl run whose captures it holds
    named     BLOB,                          -- the crawl run that it names, if another version named it before
    by_run    INTEGER NOT NULL DEFAULT 0,    -- 1 if it began as a run, from which the ids of its captures are derived
    parent    BLOB,
    message   TEXT,
    author    TEXT,
    time      INTEGER,
    record    BLOB,
    coverage  TEXT,                          -- what it covers, as JSON
    unchanged INTEGER NOT NULL DEFAULT 0,    -- the number of committed pages that are as in the parent's state
    captures  INTEGER NOT NULL DEFAULT 0,
    line      INTEGER,
    sequence  INTEGER,                       -- its position in the line
    present   INTEGER,                       -- the number of captured pages that are present in its state; NULL until counted
    unreachable INTEGER,                     -- those that could not be reached
    gone      INTEGER                        -- those that are gone
);
CREATE UNIQUE INDEX owners_by_id ON owners (id) WHERE id IS NOT NULL;
CREATE UNIQUE INDEX owners_by_time ON owners (time, no) WHERE id IS NOT NULL;
CREATE INDEX owners_by_parent ON owners (parent) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX owners_by_run ON owners (run) WHERE run IS NOT NULL;
CREATE INDEX owners_open ON owners (no) WHERE id IS NULL;
CREATE INDEX owners_versions ON owners (no) WHERE id IS NOT NULL;
CREATE INDEX owners_uncounted ON owners (no) WHERE id IS NOT NULL AND present IS NULL;
CREATE UNIQUE INDEX owners_by_line ON owners (line, sequence) WHERE line IS NOT NULL;

-- A line is a row of versions, each the child of the one before. The ancestors of a version are those before it in
-- its line, those up to the base in the line that this line left, and so on.
CREATE TABLE lines (
    no            INTEGER PRIMARY KEY,
    base_line     INTEGER,
    base_sequence INTEGER
);
CREATE INDEX lines_by_base ON lines (base_line, base_sequence) WHERE base_line IS NOT NULL;

-- Versions that were removed from the silos. Their children descend from their parents.
CREATE TABLE removed_versions (
    id     BLOB PRIMARY KEY,
    parent BLOB
) WITHOUT ROWID;
CREATE INDEX removed_versions_by_parent ON removed_versions (parent) WHERE parent IS NOT NULL;

-- A URL and the path of its pages in a working tree. A URL with two paths has two rows.
CREATE TABLE page_urls (
    no      INTEGER PRIMARY KEY,
    url_key INTEGER NOT NULL,                -- of the page identity, which all spellings share; two pages may share a key, so texts are compared
    url     TEXT NOT NULL,
    path    TEXT NOT NULL,
    page_no INTEGER                          -- the first spelling of the page with this path; NULL for the first itself
);
CREATE UNIQUE INDEX page_urls_by_path ON page_urls (path, url);
CREATE INDEX page_urls_by_key ON page_urls (url_key);
CREATE INDEX page_urls_by_url ON page_urls (url);
CREATE INDEX page_urls_by_page ON page_urls (page_no) WHERE page_no IS NOT NULL;

-- Sets of headers that many responses share.
CREATE TABLE headers (
    no     INTEGER PRIMARY KEY,
    digest INTEGER NOT NULL,                 -- the first eight bytes of the SHA-256 of the JSON
    json   TEXT NOT NULL
);
CREATE INDEX headers_by_digest ON headers (digest);

CREATE TABLE captures (
    no          INTEGER PRIMARY KEY,
    owner_no    INTEGER NOT NULL REFERENCES owners (no),
    url_no      INTEGER NOT NULL REFERENCES page_urls (no),
    time        INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    headers_no  INTEGER REFERENCES headers (no),
    own_headers TEXT,                        -- headers that differ between responses: dates, ETags, cache state
    body        NOT NULL,                    -- 32 bytes, or the number of a capture of this URL with the same body
    length      INTEGER,
    record,                                  -- 32 bytes, NULL, or 0 if they are those of the body
    truncated   INTEGER NOT NULL DEFAULT 0,
    id          BLOB                         -- NULL if it can be derived from the other columns
);
CREATE INDEX captures_by_url ON captures (url_no, time);
CREATE INDEX captures_by_owner ON captures (owner_no, url_no);
CREATE INDEX captures_by_event ON captures (url_no, owner_no, time);
CREATE UNIQUE INDEX captures_by_id ON captures (id) WHERE id IS NOT NULL;

-- Pages that a version found gone or unreachable, and did not capture.
CREATE TABLE absences (
    url_no   INTEGER NOT NULL REFERENCES page_urls (no),
    owner_no INTEGER NOT NULL REFERENCES owners (no),
    time     INTEGER NOT NULL,
    reason   TEXT,                           -- why it was unreachable; NULL if it is gone
    PRIMARY KEY (url_no, owner_no)
) WITHOUT ROWID;
CREATE INDEX absences_by_owner ON absences (owner_no, url_no);

CREATE TABLE tags (
    name    TEXT PRIMARY KEY,
    version BLOB NOT NULL,
    time    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX tags_by_version ON tags (version);

-- Computed diffs. They can be computed again, and are no part of history.
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

-- Scores. Evidence and attributions are JSON arrays, because they are written and read together.
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

CREATE TABLE checks (
    id          BLOB PRIMARY KEY,
    run         BLOB NOT NULL,
    time        INTEGER NOT NULL,
    message     TEXT NOT NULL,
    author      TEXT,
    record      BLOB NOT NULL,
    ok          INTEGER NOT NULL,            -- the number of verdicts of each kind
    changed     INTEGER NOT NULL,
    broken      INTEGER NOT NULL,
    unreachable INTEGER NOT NULL,
    skipped     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX checks_by_time ON checks (time, id);

CREATE TABLE verdicts (
    url      TEXT NOT NULL,
    time     INTEGER NOT NULL,
    verdict  TEXT NOT NULL,
    status   INTEGER NOT NULL,
    json     TEXT NOT NULL,
    check_id BLOB NOT NULL,
    PRIMARY KEY (url, time)
) WITHOUT ROWID;

-- Extractions that were saved last: one row for each canonical URL. Names and columns are those of the seed; times are
-- seconds. Two URLs may share an id, so the URL is part of the key, and readers compare it.
CREATE TABLE urls (
    id           INTEGER NOT NULL,           -- the 63-bit key of the canonical URL
    url          TEXT NOT NULL,              -- the canonical URL
    parsed_url   TEXT NOT NULL,              -- the URL that was requested
    fetch_time   INTEGER NOT NULL,
    fetch_method INTEGER NOT NULL DEFAULT 0, -- 0 unspecified, 1 direct, 2 chromium-headless
    expires      INTEGER NOT NULL,
    metadata     TEXT,                       -- the page object without what has a column of its own, as JSON
    content_text TEXT,
    PRIMARY KEY (id, url)
) WITHOUT ROWID;
CREATE INDEX urls_by_url ON urls (url);
CREATE INDEX fetch_method_expires_index ON urls (expires DESC, fetch_method ASC);

-- Which page a requested URL leads to. The texts are compared, because two URLs may share an id.
CREATE TABLE id_map (
    requested_id  INTEGER NOT NULL,          -- the 63-bit key of the requested URL
    canonical_id  INTEGER NOT NULL,          -- `urls.id` of the page
    requested_url TEXT NOT NULL,
    canonical_url TEXT NOT NULL,             -- `urls.url` of the page
    PRIMARY KEY (requested_id, requested_url)
) WITHOUT ROWID;
CREATE INDEX id_map_by_page ON id_map (canonical_id, canonical_url);

-- How the pages of a domain are fetched, as set over the API.
CREATE TABLE domain_settings (
    domain       TEXT PRIMARY KEY CHECK (length(domain) <= 255),
    sitename     TEXT CHECK (length(sitename) <= 255),
    fetch_client TEXT CHECK (length(fetch_client) <= 255),
    user_agent   TEXT CHECK (length(user_agent) <= 512),
    headers      TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(headers)),
    ttl          INTEGER                     -- in seconds
) WITHOUT ROWID;

-- Removals from the silos, with their tombstones.
CREATE TABLE removals (
    tombstone_record BLOB PRIMARY KEY,                -- the record of the tombstone
    record  BLOB NOT NULL,                   -- the removed record
    url     TEXT,                            -- of a removed response that nothing replaces
    time    INTEGER NOT NULL,
    json    TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX removals_by_record ON removals (record);
CREATE INDEX removals_by_url ON removals (url, time) WHERE url IS NOT NULL;

-- Pages that were removed from versions. Their captures stay without headers, because manifests name them. Readers
-- show nothing of a capture that is listed here.
CREATE TABLE hidden_pages (
    tombstone_record BLOB PRIMARY KEY,
    record           BLOB NOT NULL,          -- of the capture
    url              TEXT NOT NULL,
    until            INTEGER NOT NULL        -- `owners.no` of the last version that it applies to
) WITHOUT ROWID;
CREATE INDEX hidden_pages_by_page ON hidden_pages (record, url);

-- The log of versions: the manifests of versions in the order in which they were sealed. A leaf stays when its version
-- is removed.
CREATE TABLE log_leaves (
    leaf     INTEGER PRIMARY KEY,
    manifest BLOB NOT NULL,                  -- the SHA-256 of the manifest
    version  BLOB NOT NULL
);
CREATE INDEX log_leaves_by_version ON log_leaves (version);

CREATE TABLE log_checkpoints (
    size INTEGER PRIMARY KEY,                -- the number of leaves
    note TEXT NOT NULL,
    keys TEXT NOT NULL,                      -- the public keys of its signatures, one per line
    time INTEGER NOT NULL
);

CREATE TABLE log_timestamps (
    size   INTEGER NOT NULL,                 -- of the checkpoint
    answer TEXT NOT NULL,                    -- in base64
    time   INTEGER NOT NULL,
    PRIMARY KEY (size, answer)
) WITHOUT ROWID;
