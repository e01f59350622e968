//! The paths of a site and their responses.

use super::answer::{Answer, Then};
use super::connection::Connection;
use super::request::Request;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// How a request is answered: by hand.
pub(super) type Handler = dyn Fn(&Request, &mut Connection) -> io::Result<Then> + Send + Sync;

/// Paths and their handlers. The last handler of a path counts.
#[derive(Clone, Default)]
pub struct Site {
    paths: HashMap<String, Arc<Handler>>,
    /// Paths that end in a slash, for all that is below them.
    below: Vec<(String, Arc<Handler>)>,
}

impl Site {
    /// A site with nothing on it: 404 everywhere.
    pub fn new() -> Self {
        Self::default()
    }

    /// A site with everything on it.
    pub fn with_everything() -> Self {
        Self::new().with_pages().with_moods().with_faults().with_traps()
    }

    /// Adds a correct answer at a path.
    #[must_use]
    pub fn page(self, path: &str, answer: Answer) -> Self {
        self.at(path, move |request, connection| answer.send(request, connection))
    }

    /// Adds an answer that is computed, and still correct.
    #[must_use]
    pub fn computed(self, path: &str, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        self.at(path, move |request, connection| answer(request).send(request, connection))
    }

    /// Adds an answer by hand. A path that ends in a slash stands for all that is below it.
    #[must_use]
    pub fn at(
        mut self,
        path: &str,
        handler: impl Fn(&Request, &mut Connection) -> io::Result<Then> + Send + Sync + 'static,
    ) -> Self {
        if path.ends_with('/') && path != "/" {
            self.below.push((path.to_owned(), Arc::new(handler)));
        } else {
            self.paths.insert(path.to_owned(), Arc::new(handler));
        }
        self
    }

    /// Answers a request.
    pub(super) fn answer(&self, request: &Request, connection: &mut Connection) -> io::Result<Then> {
        let path = request.path();
        let below = || self.below.iter().rev().find(|(prefix, _)| path.starts_with(prefix.as_str()));
        match self.paths.get(path).or_else(|| below().map(|(_, handler)| handler)) {
            Some(handler) => handler(request, connection),
            None => Answer::status(404).header("Content-Type", "text/plain").send(request, connection),
        }
    }
}
