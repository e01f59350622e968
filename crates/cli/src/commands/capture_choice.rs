//! `--newest-good`: selects the capture of a page where the newest one may be a failure.

use varve_archive::history::HistoryReader;
use varve_archive::{ArchiveError, CaptureChoice};

use crate::verb::{Error, Session};

/// Which capture of a page is used.
#[derive(clap::Args, Default)]
pub(super) struct CaptureChoiceArgs {
    /// Use the newest capture with a complete, successful response
    #[arg(long)]
    newest_good: bool,
}

impl CaptureChoiceArgs {
    pub(super) fn choice(&self) -> CaptureChoice {
        if self.newest_good { CaptureChoice::NewestGood } else { CaptureChoice::Newest }
    }

    /// Opens the archive for a verb about versions. A version already selects one capture per page,
    /// so `--newest-good` does not apply where versions are kept.
    pub(super) fn open_reader(&self, session: &mut Session) -> Result<HistoryReader, Error> {
        let history = session.open_reader_choosing(self.choice())?;
        if self.newest_good && history.has_versions() {
            return Err(ArchiveError::NothingToChoose.into());
        }
        Ok(history)
    }
}
