//! While a large object is written, other threads read, look up and append; only acknowledgements
//! wait.

mod scene;

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use scene::{files, noise, read, resource, settings};
use varve_file::TemporaryFolder;
use varve_store::disk::{Disk, DiskError, DiskFile, LocalDisk, Stat};
use varve_store::{StoreReader, StoreWriter, StoredObject};
use varve_warc::write::Packing;

/// Longer than anything that does not wait takes on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A disk whose writes stop at a gate: large writes, or all writes to files with a name prefix.
#[derive(Clone)]
struct Gated {
    gate: Arc<Gate>,
    disk: Arc<LocalDisk>,
}

#[derive(Default)]
struct Gate {
    is_shut: AtomicBool,
    /// Whether a thread waits at the gate, and whether the gate is open again.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gated {
    fn new(root: &Path) -> Self {
        Self { gate: Arc::default(), disk: Arc::new(LocalDisk::new(root)) }
    }

    fn shut(&self) {
        self.gate.is_shut.store(true, Ordering::SeqCst);
    }

    /// Waits until a thread waits at the gate.
    fn wait_for_somebody(&self) {
        let state = self.gate.state.lock().expect("a state");
        let waited = self.gate.changed.wait_timeout_while(state, PATIENCE, |(stands, _)| !*stands);
        assert!(!waited.expect("a state").1.timed_out(), "nobody came to the gate");
    }

    fn open(&self) {
        self.gate.state.lock().expect("a state").1 = true;
        self.gate.is_shut.store(false, Ordering::SeqCst);
        self.gate.changed.notify_all();
    }

    fn pass(&self, length: usize, is_named: bool) {
        if self.gate.is_shut.load(Ordering::SeqCst) && (length > 100_000 || is_named) {
            let mut state = self.gate.state.lock().expect("a state");
            state.0 = true;
            self.gate.changed.notify_all();
            let waited = self.gate.changed.wait_timeout_while(state, PATIENCE, |(_, is_open)| !*is_open);
            assert!(!waited.expect("a state").1.timed_out(), "the gate was not opened");
        }
    }

    fn file(
        &self,
        path: &Path,
        file: Result<Box<dyn DiskFile>, DiskError>,
    ) -> Result<Box<dyn DiskFile>, DiskError> {
        let is_named =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("unfinished-0"));
        Ok(Box::new(GatedFile { gate: self.clone(), is_named, file: file? }))
    }
}

struct GatedFile {
    gate: Gated,
    is_named: bool,
    file: Box<dyn DiskFile>,
}

impl DiskFile for GatedFile {
    fn length(&self) -> Result<u64, DiskError> {
        self.file.length()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, DiskError> {
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), DiskError> {
        self.gate.pass(bytes.len(), self.is_named);
        self.file.write_at(bytes, offset)
    }
    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        self.file.truncate(length)
    }
    fn sync(&self) -> Result<(), DiskError> {
        self.file.sync()
    }
}

impl Disk for Gated {
    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.file(path, self.disk.open(path))
    }
    fn open_to_write(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.file(path, self.disk.open_to_write(path))
    }
    fn create_new(&self, path: &Path) -> Result<Box<dyn DiskFile>, DiskError> {
        self.file(path, self.disk.create_new(path))
    }
    fn stat(&self, path: &Path) -> Result<Option<Stat>, DiskError> {
        self.disk.stat(path)
    }
    fn list(&self, folder: &Path) -> Result<Vec<OsString>, DiskError> {
        self.disk.list(folder)
    }
    fn make_folders(&self, folder: &Path) -> Result<(), DiskError> {
        self.disk.make_folders(folder)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.disk.rename(from, to)
    }
    fn exchange(&self, one: &Path, other: &Path) -> Result<(), DiskError> {
        self.disk.exchange(one, other)
    }
    fn remove_tree(&self, folder: &Path) -> Result<(), DiskError> {
        self.disk.remove_tree(folder)
    }
    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.remove(path)
    }
    fn set_read_only(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.set_read_only(path)
    }
    fn sync_folder(&self, folder: &Path) -> Result<(), DiskError> {
        self.disk.sync_folder(folder)
    }

    fn temporary_folder(&self, folder: &Path) -> TemporaryFolder {
        self.disk.temporary_folder(folder)
    }
}

fn store(writer: &StoreWriter, content: &[u8]) -> StoredObject {
    let mut packer = writer.packer().expect("a packer");
    writer.store_reader(&mut packer, &resource(), &mut &content[..]).expect("stored")
}

fn reopened(root: &Path) -> StoreReader {
    StoreReader::open(files(Arc::new(LocalDisk::new(root)), root), &root.join("index")).expect("opened")
}

#[test]
fn other_threads_read_and_write_while_a_large_record_is_written() {
    let root = tempfile::tempdir().expect("a folder");
    let gate = Gated::new(root.path());
    let silos = files(Arc::new(gate.clone()), root.path());
    let writer = StoreWriter::open(silos, settings(root.path(), 1 << 30, Packing::Gzip)).expect("opened").0;
    let early = store(&writer, b"early");
    writer.wait(early.ticket).expect("durable");
    gate.shut();
    let (small, promised) = (channel(), channel());
    std::thread::scope(|scope| {
        let large = scope.spawn(|| store(&writer, &noise(3_000_000, 1)));
        gate.wait_for_somebody();
        let (writer, early) = (&writer, &early);
        scope.spawn(move || {
            assert_eq!(read(&writer.reader(), &early.id), b"early", "readers go on");
            assert!(writer.has(&early.id).expect("asked"));
            let again = store(writer, b"early");
            assert!(!again.new);
            writer.wait(early.ticket).expect("what was promised stays so");
            let stored = store(writer, b"small");
            small.0.send(stored.clone()).expect("told");
            writer.wait(stored.ticket).expect("durable");
            promised.0.send(()).expect("told");
        });
        let stored = small.1.recv_timeout(PATIENCE).expect("appending goes on");
        assert!(stored.new);
        let early_promise = promised.1.recv_timeout(Duration::from_millis(300));
        assert_eq!(early_promise, Err(RecvTimeoutError::Timeout), "what is behind it waits to be promised");
        gate.open();
        promised.1.recv_timeout(PATIENCE).expect("promised in the end");
        let large = large.join().expect("written");
        writer.wait(large.ticket).expect("durable");
        let store = reopened(root.path());
        assert_eq!(read(&store, &stored.id), b"small");
        assert!(read(&store, &large.id) == noise(3_000_000, 1));
    });
}

#[test]
fn other_threads_read_and_look_up_while_segments_are_renamed() {
    let root = tempfile::tempdir().expect("a folder");
    let gate = Gated::new(root.path());
    let silos = files(Arc::new(gate.clone()), root.path());
    let writer = StoreWriter::open(silos, settings(root.path(), 60_000, Packing::Gzip)).expect("opened").0;
    let early = store(&writer, b"early");
    writer.wait(early.ticket).expect("durable");
    gate.shut();
    let asked = channel();
    std::thread::scope(|scope| {
        let large = scope.spawn(|| store(&writer, &noise(200_000, 2)));
        gate.wait_for_somebody();
        let (writer, early) = (&writer, &early);
        scope.spawn(move || {
            assert_eq!(read(&writer.reader(), &early.id), b"early");
            assert!(!store(writer, b"early").new);
            writer.wait(early.ticket).expect("durable");
            asked.0.send(()).expect("told");
            store(writer, b"behind");
            writer.sync().expect("durable");
        });
        asked.1.recv_timeout(PATIENCE).expect("reading and asking go on");
        gate.open();
        let large = large.join().expect("written");
        assert!(read(&reopened(root.path()), &large.id) == noise(200_000, 2));
    });
    let behind = store(&writer, b"behind");
    assert!(!behind.new);
    assert_eq!(read(&reopened(root.path()), &behind.id), b"behind");
}
