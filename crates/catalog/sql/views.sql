-- Views with the names and columns of a .moku: SQL that was written for one also reads a catalog. Times are in
-- seconds. A row without a stored id gets one made from its number, which differs from the id that varve prints. The
-- id of a diff is made from its two versions, so that an attribution can name a diff that is not stored. The SQL works
-- with sqlite3 programs of 2022.

CREATE VIEW versions AS
SELECT lower(substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4)
             || '-' || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21)) AS id,
       CASE WHEN length(parent) = 16 THEN
       lower(substr(hex(parent), 1, 8) || '-' || substr(hex(parent), 9, 4) || '-' || substr(hex(parent), 13, 4)
             || '-' || substr(hex(parent), 17, 4) || '-' || substr(hex(parent), 21)) END AS parent_id,
       message, author, (time - ((time % 1000000) + 1000000) % 1000000) / 1000000 AS timestamp
FROM owners WHERE id IS NOT NULL;

CREATE VIEW snapshots AS
SELECT CASE WHEN c.id IS NULL THEN printf('00000000-0000-8000-8000-%012x', c.no)
            ELSE lower(substr(hex(c.id), 1, 8) || '-' || substr(hex(c.id), 9, 4) || '-' || substr(hex(c.id), 13, 4)
             || '-' || substr(hex(c.id), 17, 4) || '-' || substr(hex(c.id), 21)) END AS id,
       lower(substr(hex(o.id), 1, 8) || '-' || substr(hex(o.id), 9, 4) || '-' || substr(hex(o.id), 13, 4)
             || '-' || substr(hex(o.id), 17, 4) || '-' || substr(hex(o.id), 21)) AS version_id,
       c.status AS status_code, u.url AS url, u.path AS file_path,
       lower(hex(CASE typeof(c.body) WHEN 'integer'
                      THEN (SELECT b.body FROM captures AS b WHERE b.no = c.body) ELSE c.body END)) AS blob_id,
       (c.time - ((c.time % 1000000) + 1000000) % 1000000) / 1000000 AS created_at,
       json_patch(coalesce(h.json, '{}'), coalesce(c.own_headers, '{}')) AS headers
FROM captures AS c
JOIN owners AS o ON o.no = c.owner_no
JOIN page_urls AS u ON u.no = c.url_no
LEFT JOIN headers AS h ON h.no = c.headers_no
WHERE o.id IS NOT NULL;

CREATE VIEW diffs AS
SELECT lower(substr(hex(head), 1, 8) || '-' || substr(hex(head), 9, 4) || '-8' || substr(hex(head), 14, 3)
             || '-8' || substr(hex(base) || '00000000000000000000000000000000', 14, 3)
             || '-' || substr(hex(base) || '00000000000000000000000000000000', 1, 12)) AS id,
       CASE WHEN length(base) = 16 THEN
       lower(substr(hex(base), 1, 8) || '-' || substr(hex(base), 9, 4) || '-' || substr(hex(base), 13, 4)
             || '-' || substr(hex(base), 17, 4) || '-' || substr(hex(base), 21)) END AS base_version_id,
       lower(substr(hex(head), 1, 8) || '-' || substr(hex(head), 9, 4) || '-' || substr(hex(head), 13, 4)
             || '-' || substr(hex(head), 17, 4) || '-' || substr(hex(head), 21)) AS head_version_id,
       json AS diff_json, (time - ((time % 1000000) + 1000000) % 1000000) / 1000000 AS created_at
FROM kept_diffs;

CREATE VIEW version_scores AS
SELECT printf('00000000-0000-8000-8002-%012x', no) AS id,
       lower(substr(hex(version), 1, 8) || '-' || substr(hex(version), 9, 4) || '-' || substr(hex(version), 13, 4)
             || '-' || substr(hex(version), 17, 4) || '-' || substr(hex(version), 21)) AS version_id,
       scoring_version, score, normalized, confidence, json AS score_json,
       (time - ((time % 1000000) + 1000000) % 1000000) / 1000000 AS created_at
FROM scores;

CREATE VIEW version_evidence_locations AS
SELECT printf('00000000-0000-8000-8003-%06x%06x', s.no, e.key) AS id,
       lower(substr(hex(s.version), 1, 8) || '-' || substr(hex(s.version), 9, 4) || '-' || substr(hex(s.version), 13, 4)
             || '-' || substr(hex(s.version), 17, 4) || '-' || substr(hex(s.version), 21)) AS version_id,
       e.value ->> 'evidence_id' AS evidence_id,
       e.value ->> 'evidence_index' AS evidence_index,
       e.value ->> 'location_index' AS location_index,
       e.value ->> 'key' AS evidence_key,
       e.value ->> 'selector' AS selector,
       NULL AS xpath, NULL AS node_id,
       e.value ->> 'file_path' AS file_path,
       e.value ->> '$.bytes[0]' AS byte_start, e.value ->> '$.bytes[1]' AS byte_end,
       e.value ->> '$.lines[0]' AS line_start, e.value ->> '$.lines[1]' AS line_end,
       e.value ->> 'confidence' AS loc_confidence,
       e.value ->> 'evidence_json' AS evidence_json,
       e.value ->> 'location_json' AS location_json,
       s.scoring_version AS scoring_version,
       (s.time - ((s.time % 1000000) + 1000000) % 1000000) / 1000000 AS created_at
FROM scores AS s, json_each(s.evidence) AS e;

CREATE VIEW diff_attributions AS
SELECT printf('00000000-0000-8000-8004-%06x%06x', s.no, a.key) AS id,
       lower(substr(hex(s.version), 1, 8) || '-' || substr(hex(s.version), 9, 4) || '-8' || substr(hex(s.version), 14, 3)
             || '-8' || substr(replace(coalesce(a.value ->> 'base', ''), '-', '') || '00000000000000000000000000000000', 14, 3)
             || '-' || substr(replace(coalesce(a.value ->> 'base', ''), '-', '') || '00000000000000000000000000000000', 1, 12)) AS diff_id,
       lower(substr(hex(s.version), 1, 8) || '-' || substr(hex(s.version), 9, 4) || '-' || substr(hex(s.version), 13, 4)
             || '-' || substr(hex(s.version), 17, 4) || '-' || substr(hex(s.version), 21)) AS head_version_id,
       -- Evidence that disappeared belongs to the base, and has no location in the head.
       (SELECT printf('00000000-0000-8000-8003-%06x%06x', s.no, e.key) FROM json_each(s.evidence) AS e
        WHERE e.value ->> 'evidence_id' = a.value ->> 'evidence_id'
          AND e.value ->> 'location_index' = a.value ->> 'location_index' LIMIT 1) AS version_evidence_location_id,
       a.value ->> 'evidence_id' AS evidence_id,
       a.value ->> 'location_index' AS evidence_location_index,
       a.value ->> 'chunk_index' AS chunk_index,
       a.value ->> 'key' AS evidence_key,
       a.value ->> 'evidence_json' AS evidence_json,
       a.value ->> 'location_json' AS location_json,
       s.scoring_version AS scoring_version,
       a.value ->> 'contribution' AS contribution,
       a.value ->> 'percent' AS contribution_pct,
       a.value ->> 'note' AS note,
       (s.time - ((s.time % 1000000) + 1000000) % 1000000) / 1000000 AS created_at
FROM scores AS s, json_each(s.attributions) AS a;
