//! Packing on several threads, with records coming out in the order they went in.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};

use super::pack::{PackedRecord, Packer, Packing, RecordPackError};

/// Runs `pack` on `threads` threads for each job and hands the results to `sink` in the order of the jobs.
///
/// At most two jobs a thread are under way, so memory does not grow with their number. The first error, of packing or
/// of the sink, ends it; jobs after the failed one may have been packed but never reach the sink.
pub fn pack_in_order<J, E>(
    packing: &Packing,
    temporary: Option<&PathBuf>,
    threads: usize,
    jobs: impl Iterator<Item = J>,
    pack: impl Fn(&mut Packer, J) -> Result<PackedRecord, RecordPackError> + Sync,
    mut sink: impl FnMut(PackedRecord) -> Result<(), E>,
) -> Result<(), E>
where
    J: Send,
    E: From<RecordPackError>,
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
                        Err(error) => {
                            Err(RecordPackError::Io(io::Error::new(error.kind(), error.to_string())))
                        }
                    };
                    if done_sender.send((number, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done_sender);
        let mut order = WriteOrder { done: done_receiver, waiting: BTreeMap::new(), next: 0 };
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

/// Puts results that arrive in any order into the order of the jobs.
struct WriteOrder {
    done: mpsc::Receiver<(u64, Result<PackedRecord, RecordPackError>)>,
    waiting: BTreeMap<u64, Result<PackedRecord, RecordPackError>>,
    next: u64,
}

impl WriteOrder {
    /// Passes results on until all before `until` are gone.
    fn drain<E: From<RecordPackError>>(
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
