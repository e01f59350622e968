-- The tables of a search index. Rows refer to each other by number.

-- The versions whose pages are in the index.
CREATE TABLE versions (
    id BLOB PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE pages (
    no   INTEGER PRIMARY KEY,
    page TEXT NOT NULL,                      -- the identity of the page
    url  TEXT NOT NULL,
    host TEXT NOT NULL
);
CREATE UNIQUE INDEX pages_by_identity ON pages (page);

-- The texts of a page, in one or more parts. A part is found by the words of all its texts.
CREATE TABLE parts (
    no      INTEGER PRIMARY KEY,
    page_no INTEGER NOT NULL REFERENCES pages (no),
    place   INTEGER NOT NULL,
    record  BLOB NOT NULL
);
CREATE UNIQUE INDEX parts_by_page ON parts (page_no, place);

-- What pages say about URLs. Pages and URLs are given by their identities.
CREATE TABLE declarations (
    target TEXT NOT NULL,
    page   TEXT NOT NULL,
    kind   INTEGER NOT NULL,                 -- 0 canonical, 1 alternate
    PRIMARY KEY (target, page, kind)
) WITHOUT ROWID;
CREATE INDEX declarations_by_page ON declarations (page);

-- Which words a part has, by the number of the part. There are no positions and no text: hits are verified against the
-- record. Words come normalised and separated by spaces; this tokenizer only divides them.
CREATE VIRTUAL TABLE words USING fts5 (list, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
