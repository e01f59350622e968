//! The unfinished tasks when Crystal closed a project, which it offers to continue.
//!
//! Editing, migrating and copying leave the text unchanged. Ids are texts in it. Crystal fails on
//! tasks that it does not know, so varve makes no tasks of a new kind.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The tasks that Crystal would continue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HibernatedState {
    /// The tasks, in their order.
    #[serde(default)]
    pub tasks: Vec<HibernatedTask>,
    /// How far each group had come, by the group's id.
    #[serde(default)]
    pub groups: BTreeMap<String, GroupProgress>,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum HibernatedTask {
    /// Download one resource.
    DownloadResourceTask {
        /// Its id.
        resource_id: String,
    },
    /// Download the members of a group.
    DownloadResourceGroupTask {
        /// Its id.
        group_id: String,
    },
    /// A task of a kind unknown here.
    #[serde(other)]
    Unknown,
}

/// How far the download of a group had come.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GroupProgress {
    /// The last member that was done, with all before it.
    #[serde(default)]
    pub last_downloaded_member_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_all_kinds_are_read() {
        let text = r#"{"tasks": [{"type": "DownloadResourceGroupTask", "group_id": "1"},
            {"type": "DownloadResourceTask", "resource_id": "19"}, {"type": "Paint", "colour": "red"}],
            "groups": {"1": {"last_downloaded_member_id": "17"}, "2": {"last_downloaded_member_id": null}}}"#;
        let state: HibernatedState = serde_json::from_str(text).unwrap();
        assert_eq!(state.tasks[1], HibernatedTask::DownloadResourceTask { resource_id: "19".into() });
        assert_eq!(state.tasks[2], HibernatedTask::Unknown);
        assert_eq!(state.groups["1"].last_downloaded_member_id.as_deref(), Some("17"));
        assert_eq!(state.groups["2"].last_downloaded_member_id, None);
    }
}
