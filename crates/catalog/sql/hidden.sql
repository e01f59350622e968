-- Pages that were taken out of versions. Their captures stay, because manifests name them, without their headers; whether anything
-- of their bodies is shown is decided by this.
CREATE TABLE IF NOT EXISTS hidden_pages (
    tombstone_record BLOB PRIMARY KEY,                -- the record of the tombstone
    record  BLOB NOT NULL,                   -- of the capture
    url     TEXT NOT NULL,
    until   INTEGER NOT NULL                 -- `written` of the last version that it speaks of
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hidden_pages_by_page ON hidden_pages (record, url);
