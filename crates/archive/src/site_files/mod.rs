//! The pages of a version as files that a browser opens from disk.
//!
//! | question | file |
//! | --- | --- |
//! | what is the file of a page called? | `file_name` |
//! | which page gets a name that several want? | `file_plan` |
//! | where does a link lead? | `link_targets` |
//! | what is in the file? | `page_content` |
//! | how do the files of one version become those of another? | `write_files` |
//!
//! Knows nothing of Moku's working trees, which have a folder with two files for each page.

mod file_name;
mod file_plan;
mod link_targets;
mod page_content;
mod write_files;

pub(crate) use file_name::MARK_FILE;
pub use file_plan::FileOptions;
pub(crate) use write_files::{FilesUpdate, TreeCondition};

use file_name::{FileName, with_digest};
use file_plan::{FilePlan, PagePlace};
use link_targets::LinkTargets;
use page_content::PageContent;
