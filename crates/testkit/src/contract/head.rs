//! The contract of every place of HEAD.

use varve_core::VersionId;
use varve_core::head_store::{HeadError, HeadStore};

/// Runs the suite. `open` gives another handle to the same HEAD, which names no version at first.
///
/// # Panics
///
/// Panics when an implementation breaks the contract. One that never stores or refuses anything
/// breaks it.
pub fn head(open: &dyn Fn() -> Box<dyn HeadStore>) {
    let [one, two, three] = [1, 2, 3].map(|number| VersionId::new(uuid::Uuid::from_bytes([number; 16])));
    let (here, there) = (open(), open());
    let read = || (here.read().expect("read"), there.read().expect("read"));
    let at = |version| (Some(version), Some(version));
    assert_eq!(read(), (None, None));
    here.advance(None, one).expect("moved");
    assert_eq!(read(), at(one));
    for expected in [None, Some(two)] {
        match there.advance(expected, three) {
            Err(HeadError::Moved { expected: stated, found }) => {
                assert_eq!((stated, found), (expected, Some(one)));
            }
            other => panic!("HEAD was not where it was expected: {other:?}"),
        }
    }
    assert_eq!(read(), at(one));
    there.advance(Some(one), two).expect("moved");
    assert_eq!(read(), at(two));
    here.advance(Some(two), two).expect("stays");
    here.repair(three).expect("repaired");
    assert_eq!(read(), at(three));
    there.clear().expect("cleared");
    assert_eq!(read(), (None, None));
    here.clear().expect("nothing to clear");
    here.advance(None, two).expect("moved");
    assert_eq!(read(), at(two));
}
