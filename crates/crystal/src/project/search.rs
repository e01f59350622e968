//! The searches that the partial indexes of a project are for: failed downloads, responses by status,
//! and downloads without a cookie.
//!
//! The statements only narrow the rows down, with an index where the project has it. Whether a
//! revision matches is decided here, so that a project without the indexes gives the same answer.

use super::Project;
use crate::database::stream::RowStream;
use crate::ids::RevisionId;
use crate::rows::Revision;

/// The least status that is an error.
const FIRST_ERROR_STATUS: i64 = 400;
/// The status of a revision, as the index has it.
const STATUS_EXPRESSION: &str = "json_extract(metadata, '$.status_code')";

/// Which revisions to find. Without any condition, all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RevisionSearch {
    /// Only those that failed: without a response, or with a status of 400 or more.
    pub errors: bool,
    /// Only those that were requested without a cookie.
    pub without_cookie: bool,
    /// Only those with this status.
    pub status: Option<i64>,
}

impl RevisionSearch {
    /// Whether a revision is one of those.
    pub fn matches(&self, revision: &Revision) -> bool {
        let status = || revision.metadata().ok().flatten().map(|metadata| metadata.status_code);
        let is_error = || !revision.has_body() || status().is_some_and(|code| code >= FIRST_ERROR_STATUS);
        (!self.errors || is_error())
            && (!self.without_cookie || revision.request_cookie.is_none())
            && self.status.is_none_or(|wanted| revision.has_body() && status() == Some(wanted))
    }

    /// The conditions that a statement may have. Those about the status fail on metadata that is no
    /// JSON, which no row has where the index could be made.
    fn conditions(&self, has_status_index: bool, has_cookie: bool) -> String {
        let mut conditions = String::new();
        if self.errors && has_status_index {
            conditions.push_str(&format!(
                " AND (error != 'null' OR ({STATUS_EXPRESSION} != 200 AND {STATUS_EXPRESSION} >= {FIRST_ERROR_STATUS}))"
            ));
        }
        if self.without_cookie && has_cookie {
            conditions.push_str(" AND request_cookie IS NULL");
        }
        if let Some(status) = self.status.filter(|status| *status != 200 && has_status_index) {
            conditions
                .push_str(&format!(" AND {STATUS_EXPRESSION} != 200 AND {STATUS_EXPRESSION} = {status}"));
        }
        conditions
    }
}

impl Project {
    /// The revisions that a search finds and that are not newer than this one, the newest first.
    pub fn search_revisions(&self, search: RevisionSearch, newest: RevisionId) -> RowStream<'_, Revision> {
        let conditions = search.conditions(self.shape.has_status_index, self.shape.has_request_cookie);
        self.revisions_matching(&conditions, newest, move |revision| search.matches(revision))
    }
}
