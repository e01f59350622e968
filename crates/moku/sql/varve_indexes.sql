CREATE INDEX IF NOT EXISTS varve_tags_by_version ON varve_tags (version_id);
CREATE INDEX IF NOT EXISTS varve_versions_by_run ON varve_versions (run);
CREATE INDEX IF NOT EXISTS varve_run_snapshots_by_run ON varve_run_snapshots (run);
CREATE INDEX IF NOT EXISTS varve_run_snapshots_by_url ON varve_run_snapshots (url);
CREATE INDEX IF NOT EXISTS varve_diff_attributions_by_head ON varve_diff_attributions (head_version_id);
