//! `--newest-good`: which revision of a page is meant in a Crystal project, where the newest may record a failure.

use varve_archive::history::Holdings;
use varve_archive::{ArchiveError, Choice};

use crate::error::Error;
use crate::session::Session;

/// Which capture stands for a page.
#[derive(clap::Args, Default)]
pub(super) struct Choosing {
    /// The newest capture whose answer was good and came whole, instead of the newest
    #[arg(long)]
    newest_good: bool,
}

impl Choosing {
    pub(super) fn choice(&self) -> Choice {
        if self.newest_good { Choice::NewestGood } else { Choice::Newest }
    }

    /// Opens what is to be read, for a verb about versions. Where versions are kept, each says itself which captures it
    /// holds, and there is nothing to choose.
    pub(super) fn holdings(&self, session: &Session) -> Result<Box<dyn Holdings>, Error> {
        let holdings = session.holdings_by(self.choice())?;
        if self.newest_good && holdings.has_versions() {
            return Err(ArchiveError::NothingToChoose.into());
        }
        Ok(holdings)
    }
}
