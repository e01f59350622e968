//! Looking at the revisions and their bodies, each from its own side.

use std::io::{self, Read};

use super::{ProjectFinding, Verification};
use crate::body::{BodyLookup, MAX_TREE_ID, WalkedBody, walk_bodies};
use crate::error::{Error, Result};
use crate::ids::RevisionId;
use crate::revision::{DownloadError, ResponseMetadata};
use crate::rows::Revision;
use crate::version::MajorVersion;

impl Verification<'_> {
    /// Each row: its texts, its resource, its body.
    pub(super) fn revisions(&mut self) -> Result<()> {
        for revision in self.project.revisions() {
            self.verified.revisions += 1;
            if let Some(revision) = self.readable(revision)? {
                // First, since a repair may delete the row, and the rest with it.
                self.body_of(&revision)?;
                if self.is_there(&revision)? {
                    self.texts(&revision)?;
                    self.resource_of(&revision)?;
                }
            }
            (self.progress)(&self.verified);
        }
        Ok(())
    }

    /// Whether the row is there. A repair may have deleted it.
    fn is_there(&self, revision: &Revision) -> Result<bool> {
        if !self.may_delete {
            return Ok(true);
        }
        match self.project.revision(revision.id) {
            Ok(found) => Ok(found.is_some()),
            Err(Error::Row(_)) => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn texts(&mut self, revision: &Revision) -> Result<()> {
        match DownloadError::read(&revision.error) {
            Ok(None) if revision.error != "null" => {
                self.found(ProjectFinding::ErrorPadded { revision: revision.id })?;
            }
            Ok(_) => {}
            Err(problem) => {
                let problem = problem.to_string();
                self.found(ProjectFinding::ErrorUnreadable { revision: revision.id, problem })?;
            }
        }
        if let Err(problem) = ResponseMetadata::read(&revision.metadata) {
            let problem = problem.to_string();
            self.found(ProjectFinding::MetadataUnreadable { revision: revision.id, problem })?;
        }
        Ok(())
    }

    fn resource_of(&mut self, revision: &Revision) -> Result<()> {
        let resource = self.project.resource(revision.resource);
        if matches!(resource, Ok(None)) {
            let (revision, resource) = (revision.id, revision.resource);
            self.found(ProjectFinding::RevisionWithoutResource { revision, resource })?;
        }
        Ok(())
    }

    fn body_of(&mut self, revision: &Revision) -> Result<()> {
        let largest = if self.project.version() == MajorVersion::Flat { i64::MAX } else { MAX_TREE_ID };
        if !(1..=largest).contains(&revision.id.get()) {
            return self.found(ProjectFinding::IdOutOfRange { revision: revision.id });
        }
        match self.project.body_of(revision) {
            Ok(BodyLookup::NeverHad) => Ok(()),
            Ok(BodyLookup::Missing { expected }) => {
                self.verified.missing_bodies += 1;
                self.found(ProjectFinding::BodyMissing { revision: revision.id, expected })
            }
            Ok(BodyLookup::Found(mut body)) => {
                self.verified.bodies += 1;
                self.verified.bytes += body.length();
                let expected = body.length();
                match self.options.read_bodies.then(|| read_to_end(&mut body, expected)).transpose() {
                    Ok(_) => Ok(()),
                    Err(error) => self.unreadable(revision.id, &error.to_string()),
                }
            }
            Err(error @ (Error::Io { .. } | Error::Link { .. } | Error::Folder(_) | Error::Pack { .. })) => {
                if let Error::Link { path } = &error {
                    self.reported_links.insert(path.clone());
                }
                self.unreadable(revision.id, &chain(&error))
            }
            Err(error) => Err(error),
        }
    }

    fn unreadable(&mut self, revision: RevisionId, problem: &str) -> Result<()> {
        self.found(ProjectFinding::BodyUnreadable { revision, problem: problem.to_owned() })
    }

    /// Each file: whether a row names it.
    pub(super) fn files(&mut self) -> Result<()> {
        let project = self.project;
        walk_bodies(&project.layout, project.version(), &mut |walked| match walked {
            WalkedBody::Body { id, path } => match project.revision(id) {
                Ok(None) => self.found(ProjectFinding::BodyWithoutRow { revision: id, path }),
                Ok(Some(row)) if !row.has_body() && DownloadError::read(&row.error).is_ok() => {
                    self.found(ProjectFinding::BodyOfError { revision: id, path })
                }
                // A row that cannot be understood was found above.
                Ok(Some(_)) | Err(Error::Row(_)) => Ok(()),
                Err(error) => Err(error),
            },
            // It makes bodies unreachable, and was found above.
            WalkedBody::Stray(path) if self.reported_links.contains(&path) => Ok(()),
            WalkedBody::Stray(path) => self.found(ProjectFinding::StrayFile { path }),
            WalkedBody::BadPack(path, problem) => {
                let problem = problem.to_string();
                self.found(ProjectFinding::PackUnreadable { path, problem })
            }
        })
    }
}

/// Reads a body to its end, which must be at its announced length.
fn read_to_end(body: &mut impl Read, expected: u64) -> io::Result<()> {
    let read = io::copy(body, &mut io::sink())?;
    if read == expected { Ok(()) } else { Err(io::Error::other("it has another length than it says")) }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
