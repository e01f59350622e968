//! The DevTools protocol over a pipe: JSON messages, each ended by a zero byte.
//!
//! Owns the pairing of calls and results; all other messages are events. Does not know what the
//! messages mean.

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

/// Something that happened in the browser.
#[derive(Debug)]
pub(super) struct DevtoolsEvent {
    pub(super) method: String,
    pub(super) session: Option<String>,
    pub(super) params: Value,
}

/// The calls that wait for an answer; none when the browser has said its last word, and no answer
/// will come.
struct PendingCalls(Mutex<Option<HashMap<u64, oneshot::Sender<Value>>>>);

impl PendingCalls {
    fn new() -> Self {
        Self(Mutex::new(Some(HashMap::new())))
    }

    /// Waits for the answer to a call. Without one to come, the receiver says so at once.
    fn expect(&self, id: u64) -> oneshot::Receiver<Value> {
        let (sender, answer) = oneshot::channel();
        if let Some(waiting) = self.lock().as_mut() {
            waiting.insert(id, sender);
        }
        answer
    }

    fn take(&self, id: u64) -> Option<oneshot::Sender<Value>> {
        self.lock().as_mut()?.remove(&id)
    }

    /// Ends all waiting calls, and later ones, without a result.
    fn end(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Value>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The near end of the pipe. Cloning shares it.
#[derive(Clone)]
pub(super) struct DevtoolsPipe(Arc<DevtoolsPipeEnds>);

struct DevtoolsPipeEnds {
    input: tokio::sync::Mutex<ChildStdin>,
    answers: Arc<PendingCalls>,
    last_call: AtomicU64,
    reader: AbortHandle,
}

impl Drop for DevtoolsPipeEnds {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl DevtoolsPipe {
    /// Begins a conversation. The events end when the browser does.
    pub(super) fn new(
        input: ChildStdin,
        output: ChildStdout,
    ) -> (Self, mpsc::UnboundedReceiver<DevtoolsEvent>) {
        let answers = Arc::new(PendingCalls::new());
        let (sender, events) = mpsc::unbounded_channel();
        let reader = tokio::spawn(listen(output, Arc::clone(&answers), sender)).abort_handle();
        let input = tokio::sync::Mutex::new(input);
        (Self(Arc::new(DevtoolsPipeEnds { input, answers, last_call: AtomicU64::new(0), reader })), events)
    }

    /// Calls a method and waits for its result.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, FetchError> {
        let id = self.0.last_call.fetch_add(1, Ordering::Relaxed) + 1;
        let answer = self.0.answers.expect(id);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let ended = || failed(format!("the browser ended during `{method}`"));
        self.0.input.lock().await.write_all(&bytes).await.map_err(|error| ended().because(error))?;
        let mut answer = answer.await.map_err(|_| ended())?;
        match answer.get("error") {
            Some(error) => Err(failed(format!("the browser refuses `{method}`: {}", error["message"]))),
            None => Ok(answer["result"].take()),
        }
    }
}

/// Reads messages until the browser ends or says something that is none.
async fn listen(
    output: ChildStdout,
    answers: Arc<PendingCalls>,
    events: mpsc::UnboundedSender<DevtoolsEvent>,
) {
    let mut output = BufReader::with_capacity(64 << 10, output);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = (&mut output).take(MAX_MESSAGE_BYTES).read_until(0, &mut bytes).await;
        if !read.is_ok_and(|count| count > 0) || bytes.pop() != Some(0) {
            break;
        }
        let Ok(message) = serde_json::from_slice::<Value>(&bytes) else { break };
        if !pass_on(message, &answers, &events) {
            break;
        }
    }
    answers.end();
}

/// Passes a message to the call or the listener that waits for it. Returns whether there is a
/// listener.
fn pass_on(
    mut message: Value,
    answers: &PendingCalls,
    events: &mpsc::UnboundedSender<DevtoolsEvent>,
) -> bool {
    if let Some(id) = message["id"].as_u64() {
        if let Some(waiting) = answers.take(id) {
            // Nobody waits any more for a call that was given up.
            let _ = waiting.send(message);
        }
        return true;
    }
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let session = message["sessionId"].as_str().map(str::to_owned);
    events.send(DevtoolsEvent { method, session, params: message["params"].take() }).is_ok()
}
