//! The DevTools protocol over a pipe: JSON messages, each ended by a zero byte.
//!
//! Pairs calls with results, and routes events to the page whose session they name. Does not know
//! what the messages mean. One task writes all messages: the pages of a browser share the pipe, and
//! a cancelled call must not leave half a message in it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::failed;
use crate::error::FetchError;

/// A longer message ends the connection.
const MAX_MESSAGE_BYTES: u64 = 256 << 20;

/// An event of a page.
#[derive(Debug)]
pub(super) struct DevtoolsEvent {
    pub(super) method: String,
    pub(super) params: Value,
}

/// Where messages of the browser go.
#[derive(Default)]
struct MessageRoutes {
    /// Calls without a result yet.
    calls: HashMap<u64, oneshot::Sender<Value>>,
    /// Pages, by session.
    pages: HashMap<String, mpsc::UnboundedSender<DevtoolsEvent>>,
}

/// `None` once the browser has ended: then no message will come.
type SharedRoutes = Mutex<Option<MessageRoutes>>;

fn lock(routes: &SharedRoutes) -> MutexGuard<'_, Option<MessageRoutes>> {
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Our end of the pipe. Cloning shares it.
#[derive(Clone)]
pub(super) struct DevtoolsPipe(Arc<PipeState>);

struct PipeState {
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    routes: Arc<SharedRoutes>,
    last_call: AtomicU64,
    reader: AbortHandle,
}

impl Drop for PipeState {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl DevtoolsPipe {
    /// Starts to read and write. Must be called in a runtime.
    pub(super) fn new(input: ChildStdin, output: ChildStdout) -> Self {
        let routes = Arc::new(Mutex::new(Some(MessageRoutes::default())));
        let (outgoing, messages) = mpsc::unbounded_channel();
        tokio::spawn(write_messages(input, messages));
        let reader = tokio::spawn(read_messages(output, Arc::clone(&routes))).abort_handle();
        Self(Arc::new(PipeState { outgoing, routes, last_call: AtomicU64::new(0), reader }))
    }

    /// Whether the browser can still be called.
    pub(super) fn is_open(&self) -> bool {
        lock(&self.0.routes).is_some()
    }

    /// The events of a session from now on. They end when the browser ends.
    pub(super) fn events_of(&self, session: &str) -> mpsc::UnboundedReceiver<DevtoolsEvent> {
        let (sender, events) = mpsc::unbounded_channel();
        if let Some(routes) = lock(&self.0.routes).as_mut() {
            routes.pages.retain(|_, page| !page.is_closed());
            routes.pages.insert(session.to_owned(), sender);
        }
        events
    }

    /// Calls a method of the browser, or of a page if there is a session, and waits for its result.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, FetchError> {
        let id = self.0.last_call.fetch_add(1, Ordering::Relaxed) + 1;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let (sender, answer) = oneshot::channel();
        // Without routes the sender is dropped here, and the receiver fails at once.
        if let Some(routes) = lock(&self.0.routes).as_mut() {
            routes.calls.insert(id, sender);
        }
        let ended = || failed(format!("the browser ended during `{method}`"));
        self.0.outgoing.send(bytes).map_err(|_| ended())?;
        let mut answer = answer.await.map_err(|_| ended())?;
        match answer.get("error") {
            Some(error) => Err(failed(format!("the browser rejected `{method}`: {}", error["message"]))),
            None => Ok(answer["result"].take()),
        }
    }
}

/// Writes messages until the browser ends or the pipe is dropped.
async fn write_messages(mut input: ChildStdin, mut messages: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(message) = messages.recv().await {
        if input.write_all(&message).await.is_err() {
            return;
        }
    }
}

/// Reads messages until the browser ends or sends something that is not JSON.
async fn read_messages(output: ChildStdout, routes: Arc<SharedRoutes>) {
    let mut output = BufReader::with_capacity(64 << 10, output);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = (&mut output).take(MAX_MESSAGE_BYTES).read_until(0, &mut bytes).await;
        if !read.is_ok_and(|count| count > 0) || bytes.pop() != Some(0) {
            break;
        }
        let Ok(message) = serde_json::from_slice::<Value>(&bytes) else { break };
        pass_on(message, &routes);
    }
    *lock(&routes) = None;
}

/// Passes a message to the call or the page that waits for it. Calls that were given up and pages
/// that were closed wait no more.
fn pass_on(mut message: Value, routes: &SharedRoutes) {
    let mut routes = lock(routes);
    let Some(routes) = routes.as_mut() else { return };
    if let Some(call) = message["id"].as_u64() {
        if let Some(caller) = routes.calls.remove(&call) {
            let _ = caller.send(message);
        }
    } else if let Some(page) = message["sessionId"].as_str().and_then(|session| routes.pages.get(session)) {
        let page = page.clone();
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let _ = page.send(DevtoolsEvent { method, params: message["params"].take() });
    }
}
