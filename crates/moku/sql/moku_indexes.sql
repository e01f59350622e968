-- The indexes of a .moku site, by the names that Moku gives them.

CREATE INDEX IF NOT EXISTS idx_snapshots_created_at ON snapshots (created_at);
CREATE INDEX IF NOT EXISTS idx_snapshots_url ON snapshots (url);
CREATE INDEX IF NOT EXISTS idx_snapshots_blob_id ON snapshots (blob_id);
CREATE INDEX IF NOT EXISTS idx_snapshots_version_id ON snapshots (version_id);
CREATE INDEX IF NOT EXISTS idx_versions_timestamp ON versions (timestamp DESC);
CREATE INDEX IF NOT EXISTS idx_versions_parent_id ON versions (parent_id);
CREATE INDEX IF NOT EXISTS idx_diffs_base_head ON diffs (base_version_id, head_version_id);
CREATE INDEX IF NOT EXISTS idx_diffs_head ON diffs (head_version_id);
CREATE INDEX IF NOT EXISTS idx_scans_version_id ON scans (version_id);
CREATE INDEX IF NOT EXISTS idx_scans_created_at ON scans (created_at);
CREATE INDEX IF NOT EXISTS idx_endpoints_host ON endpoints (host);
CREATE INDEX IF NOT EXISTS idx_endpoints_status ON endpoints (status);
CREATE INDEX IF NOT EXISTS idx_endpoints_last_discovered_at ON endpoints (last_discovered_at);
CREATE UNIQUE INDEX IF NOT EXISTS idx_score_results_snapshot ON score_results (snapshot_id);
CREATE INDEX IF NOT EXISTS idx_score_results_version_url ON score_results (version_id, url);
CREATE INDEX IF NOT EXISTS idx_evidence_items_score ON evidence_items (score_result_id);
CREATE INDEX IF NOT EXISTS idx_evidence_items_severity ON evidence_items (severity);
CREATE INDEX IF NOT EXISTS idx_evidence_locations_item ON evidence_locations (evidence_item_id);
CREATE INDEX IF NOT EXISTS idx_evidence_locations_snapshot ON evidence_locations (snapshot_id);
CREATE INDEX IF NOT EXISTS idx_version_scores_version_id ON version_scores (version_id);
CREATE INDEX IF NOT EXISTS idx_vel_version_id ON version_evidence_locations (version_id);
CREATE INDEX IF NOT EXISTS idx_vel_evidence_id ON version_evidence_locations (evidence_id);
CREATE UNIQUE INDEX IF NOT EXISTS idx_vel_unique_triplet
    ON version_evidence_locations (version_id, evidence_id, location_index);
CREATE INDEX IF NOT EXISTS idx_diff_attributions_diff_id ON diff_attributions (diff_id);
CREATE INDEX IF NOT EXISTS idx_diff_attributions_head_version ON diff_attributions (head_version_id);
CREATE INDEX IF NOT EXISTS idx_diff_attributions_vel_id ON diff_attributions (version_evidence_location_id);
CREATE INDEX IF NOT EXISTS idx_diff_attributions_scoring_version ON diff_attributions (scoring_version);
