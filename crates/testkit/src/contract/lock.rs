//! The contract of every lock of a writer.

use varve_core::writer_lock::{LockError, WriterLock};

/// Runs the suite. `open` gives another handle to the same lock, which is free at first.
///
/// # Panics
///
/// Panics when an implementation breaks the contract. One that lets everyone in breaks it.
pub fn lock(open: &dyn Fn() -> Box<dyn WriterLock>) {
    let (here, there) = (open(), open());
    assert_eq!(there.holder().expect("read"), None);
    let first = here.take("varve commit, process 12").expect("free");
    for lock in [&here, &there] {
        match lock.take("another") {
            Err(LockError::Held { holder }) => assert_eq!(holder, "varve commit, process 12"),
            other => panic!("the lock is held: {other:?}"),
        }
        assert_eq!(lock.holder().expect("read").as_deref(), Some("varve commit, process 12"));
    }
    drop(first);
    assert_eq!(here.holder().expect("read"), None);
    // Also a holder without a description is one.
    let second = there.take("").expect("free again");
    assert!(here.holder().expect("read").is_some_and(|holder| !holder.is_empty()));
    drop(second);
    here.take("short").expect("free again");
}
