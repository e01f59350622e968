//! The door before a browser: what a page asks for is held to the rules of the run, and what the run has is not asked for again.
//!
//! The thread that runs the crawl judges, because it knows what hosts ask of robots and what the user leaves out; here
//! its word is asked for, and then a turn at the host. What a page embeds may lie anywhere, as always: the scope does not
//! count.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use varve_core::exchange::Exchange;
use varve_fetch::{Admitted, Gate, Pending, Question};

use super::address::{asked, host_of};
use super::errand::Errand;
use super::fetching::Message;
use super::memory::{Asking, Look, Memory};
use super::pace::{Pace, Turn};
use super::recall::Recall;
use super::run::Crawl;
use super::scope::Rule;
use super::task::Task;
use crate::error::ArchiveError;

/// A word is waited for so long: the file for robots of a host may have to be had first.
const PATIENCE: Duration = Duration::from_secs(20);

/// The question whether a page may have something.
pub(crate) struct Inquiry {
    /// What it asks for.
    pub(crate) url: String,
    /// Where the answer goes.
    pub(crate) reply: Reply,
}

/// Takes the rule by which something may not be had, or none.
pub(crate) type Reply = oneshot::Sender<Option<Rule>>;

/// The door.
pub(crate) struct Door {
    pace: Arc<Pace>,
    /// What pages were answered.
    memory: Arc<Memory>,
    /// Where questions go, while there is a run to ask.
    judge: Mutex<Option<Sender<Message>>>,
}

impl Door {
    /// A door through which requests go at this pace.
    pub(crate) fn new(pace: Arc<Pace>) -> Self {
        Self { pace, memory: Arc::default(), judge: Mutex::default() }
    }

    /// Questions go there from now on.
    pub(crate) fn open(&self, judge: Sender<Message>) {
        *self.judge.lock().unwrap_or_else(PoisonError::into_inner) = Some(judge);
    }

    /// Nobody is there to be asked any more.
    pub(crate) fn close(&self) {
        *self.judge.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A host asks for a longer delay.
    pub(crate) fn slow_down(&self, host: &str, delay: Duration) {
        self.pace.slow_down(host, delay);
    }

    /// What pages were answered.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Puts a question to the run; says whether there is one.
    fn put(&self, question: Message) -> bool {
        let judge = self.judge.lock().unwrap_or_else(PoisonError::into_inner);
        judge.as_ref().is_some_and(|judge| judge.send(question).is_ok())
    }

    /// What this run was answered, by whichever page, or by nobody asking for one.
    async fn recall(&self, url: &str) -> Option<Exchange> {
        match self.memory.look_when_quiet(url).await {
            Look::Held(exchange) => return Some(*exchange),
            Look::Outdated => return None,
            Look::Nothing | Look::Asking => {}
        }
        let (reply, answer) = oneshot::channel();
        if !self.put(Message::Recall(Recall { url: url.to_owned(), reply })) {
            return None;
        }
        tokio::time::timeout(PATIENCE, answer).await.ok()?.ok()?
    }

    async fn word(&self, url: String) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        if !self.put(Message::Asked(Inquiry { url, reply })) {
            return Err("the run has ended".to_owned());
        }
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(rule))) => Err(rule.to_string()),
            Ok(Err(_)) => Err("the run has ended".to_owned()),
            Err(_) => Err("robots:unknown".to_owned()),
        }
    }
}

impl Gate for Door {
    fn admit(&self, question: Question) -> Pending<'_, Result<Admitted, String>> {
        Box::pin(async move {
            let Question { url, method, is_page, is_plain } = question;
            let url = asked(&url).unwrap_or(url);
            let mut asking = if is_plain && is_page { self.memory.ask(&url) } else { None };
            while is_plain && !is_page && asking.is_none() {
                if let Some(exchange) = self.recall(&url).await {
                    return Ok(Admitted::Recalled(Box::new(exchange)));
                }
                // Another page may have been quicker.
                asking = self.memory.ask(&url);
            }
            if !matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS") {
                self.memory.outdate(&url);
            }
            let host = host_of(&url).to_owned();
            self.word(url).await?;
            Ok(Admitted::Ask(Box::new(Way { asking, _turn: self.pace.turn(&host).await })))
        })
    }
}

/// A request of a page, under way.
struct Way {
    asking: Option<Asking>,
    _turn: Turn,
}

impl varve_fetch::Turn for Way {
    fn answered(self: Box<Self>, exchange: &Exchange) {
        if let Some(asking) = self.asking {
            asking.answered(exchange);
        }
    }
}

impl Crawl<'_> {
    /// Judges what a page asks for: now, or when the file for robots of its host is here.
    pub(super) fn asked(&mut self, inquiry: Inquiry) -> Result<(), ArchiveError> {
        let Inquiry { url, reply } = inquiry;
        let plan = self.around.plan;
        // Patterns and robots are about what is asked for, however a script spells it.
        let url = asked(&url).unwrap_or(url);
        let address = plan.address(&url);
        let errand = Errand::Embed { chain: 1 };
        let unwanted = plan.unplanned(errand, &url).or_else(|| plan.scope.excludes(&url, &address));
        if let Some(rule) = unwanted {
            self.turn_away(&url, rule, reply);
            return Ok(());
        }
        if !plan.settings.robots {
            let _ = reply.send(None);
            return Ok(());
        }
        self.ask_robots(Task::inquiry(url, errand, reply))
    }

    /// Tells a page that it does not get something.
    pub(super) fn turn_away(&mut self, url: &str, rule: Rule, reply: Reply) {
        self.tell_denied(url, &rule);
        let _ = reply.send(Some(rule));
    }
}
