//! Packing on several threads, with records coming out in the order they went in.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};

use super::pack::{PackError, PackedRecord, Packer, Packing};

/// Runs `pack` on `threads` threads for each job and hands the results to `sink` in the order of the jobs.
///
/// At most two jobs a thread are under way, so memory does not grow with their number. The first error, of packing or
/// of the sink, ends it; jobs behind the failed one may have been packed but never reach the sink.
pub fn pack_in_order<J, E>(
    packing: &Packing,
    temporary: Option<&PathBuf>,
    threads: usize,
    jobs: impl Iterator<Item = J>,
    pack: impl Fn(&mut Packer, J) -> Result<PackedRecord, PackError> + Sync,
    mut sink: impl FnMut(PackedRecord) -> Result<(), E>,
) -> Result<(), E>
where
    J: Send,
    E: From<PackError>,
{
    let threads = threads.max(1);
    let (job_sender, job_receiver) = mpsc::sync_channel::<(u64, J)>(threads);
    let job_receiver = Mutex::new(job_receiver);
    let (done_sender, done_receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let done_sender = done_sender.clone();
            let (job_receiver, pack) = (&job_receiver, &pack);
            scope.spawn(move || {
                let mut packer = Packer::new(packing.clone(), temporary.cloned());
                loop {
                    let job = match job_receiver.lock() {
                        Ok(receiver) => receiver.recv(),
                        Err(_) => break,
                    };
                    let Ok((number, job)) = job else { break };
                    let result = match &mut packer {
                        Ok(packer) => pack(packer, job),
                        Err(error) => Err(PackError::Io(io::Error::new(error.kind(), error.to_string()))),
                    };
                    if done_sender.send((number, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done_sender);
        let mut order = Order { done: done_receiver, waiting: BTreeMap::new(), next: 0 };
        let mut sent = 0;
        for job in jobs {
            if job_sender.send((sent, job)).is_err() {
                break;
            }
            sent += 1;
            order.drain(sent.saturating_sub(2 * threads as u64), &mut sink)?;
        }
        drop(job_sender);
        order.drain(sent, &mut sink)
    })
}

/// Results that arrive in any order and leave in the right one.
struct Order {
    done: mpsc::Receiver<(u64, Result<PackedRecord, PackError>)>,
    waiting: BTreeMap<u64, Result<PackedRecord, PackError>>,
    next: u64,
}

impl Order {
    /// Hands on results until all before `until` have left.
    fn drain<E: From<PackError>>(
        &mut self,
        until: u64,
        sink: &mut impl FnMut(PackedRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            while let Some(result) = self.waiting.remove(&self.next) {
                self.next += 1;
                sink(result?)?;
            }
            if self.next >= until {
                return Ok(());
            }
            let Ok((number, result)) = self.done.recv() else { return Ok(()) };
            self.waiting.insert(number, result);
        }
    }
}
