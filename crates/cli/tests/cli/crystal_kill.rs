//! capture, save-as, import and migrate of Crystal projects, killed at random moments.
//!
//! Each round runs a verb in a process of its own and kills it with SIGKILL somewhere between its start and the time that
//! the verb takes. Then the project is opened as anyone would: every body that ever had a row is there to its byte, every
//! row that should have a body has one, and the verb comes to its end when it is called again.
//!
//! `VARVE_KILLS` sets the number of kills; the default is small.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use varve_crystal::{BodyLookup, CreateOptions, GroupSource, MajorVersion, NewGroup, Project, ProjectWriter};
use varve_testkit::web::{Site, Web};

use crate::project::{self, Download};
use crate::{run, stderr, stdout, varve};

const EVERY_DAY: u64 = 24;
/// Revisions of a project that is copied, imported or migrated.
const REVISIONS: i64 = 120;
/// Pages of the site that is captured.
const PAGES: usize = 30;
/// Kills between two progress messages of a long run.
const TOLD_EVERY: u64 = 100;
/// Captures into one project.
const CAPTURES: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Capture,
    SaveAs,
    Import,
    Migrate,
}

const VERBS: [Verb; 4] = [Verb::Capture, Verb::Migrate, Verb::SaveAs, Verb::Import];

/// Every body, by its revision.
type Bodies = BTreeMap<i64, Vec<u8>>;

fn bodies(path: &Path) -> Bodies {
    let project = Project::open(path).unwrap();
    let mut bodies = Bodies::new();
    for revision in project.revisions() {
        let revision = revision.unwrap();
        match project.body_of(&revision).unwrap() {
            BodyLookup::Found(mut body) => {
                let mut bytes = Vec::new();
                body.read_to_end(&mut bytes).unwrap();
                bodies.insert(revision.id.get(), bytes);
            }
            BodyLookup::NeverHad => {}
            BodyLookup::Missing { .. } => panic!("the body of revision {} is lost", revision.id),
        }
    }
    bodies
}

/// A project of pages that contain their number.
fn make(path: &Path, version: MajorVersion) {
    let downloads = (1..=REVISIONS).map(|number| {
        Download::plain(format!("https://e.org/{}", number % 40), format!("page {number} ").repeat(50))
    });
    project::make(path, version, downloads);
}

/// The folder of a round, for one verb.
struct Round {
    folder: tempfile::TempDir,
    verb: Verb,
    /// Content that must never be lost.
    known: Bodies,
}

impl Round {
    fn new(verb: Verb, web: &Web) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut round = Self { folder, verb, known: Bodies::new() };
        match verb {
            Verb::Capture => round.make_empty(web),
            Verb::Migrate => make(&round.project(), MajorVersion::Flat),
            Verb::SaveAs | Verb::Import => make(&round.project(), MajorVersion::Tree),
        }
        if verb == Verb::Import {
            let museum = round.folder.path().join("museum");
            assert_eq!(run(&["init", museum.to_str().unwrap()]).status.code(), Some(0));
        }
        round.known = bodies(&round.project());
        round
    }

    fn make_empty(&self, web: &Web) {
        let mut writer = ProjectWriter::create(self.project(), CreateOptions::default()).unwrap();
        let root = writer.add_root("Home", &web.url(&format!("/site/{PAGES}/0"))).unwrap();
        let pattern = web.url(&format!("/site/{PAGES}/#"));
        let source = Some(GroupSource::Root(root.id));
        let group = NewGroup { name: "Pages", url_pattern: &pattern, source, do_not_download: false };
        writer.add_group(group).unwrap();
        writer.close().unwrap();
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("lab.crystalproj")
    }

    fn copy(&self) -> PathBuf {
        self.folder.path().join("copy.crystalproj")
    }

    fn words(&self, is_again: bool) -> Vec<String> {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let (project, museum) = (text(self.project()), text(self.folder.path().join("museum")));
        match self.verb {
            Verb::Capture => {
                let mut words = vec!["-C", &project, "capture", "--allow-private", "--delay", "0s"];
                words.extend(["--json", if is_again { "--resume" } else { "--ignore-robots" }]);
                words.into_iter().map(str::to_owned).collect()
            }
            Verb::Migrate => vec!["crystal".to_owned(), "migrate".to_owned(), project],
            Verb::SaveAs => vec!["crystal".to_owned(), "save-as".to_owned(), project, text(self.copy())],
            Verb::Import => vec!["-C".to_owned(), museum, "import".to_owned(), project],
        }
    }

    /// Runs the verb and kills it after `patience`; returns whether it finished.
    fn kill_after(&self, patience: Duration) -> bool {
        let mut command = varve();
        let mut child =
            command.args(self.words(false)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(patience);
        child.kill().unwrap();
        let ended = child.wait_with_output().unwrap();
        let well = ended.status.code().is_none_or(|code| code == 0);
        assert!(well, "{:?} could not do its work: {}", self.verb, stderr(&ended));
        ended.status.code().is_some()
    }

    /// The invariants after a kill at any moment.
    fn check(&mut self, done: bool) {
        let now = bodies(&self.project());
        for (id, body) in &self.known {
            assert_eq!(now.get(id), Some(body), "revision {id} is not what it was");
        }
        match self.verb {
            Verb::Capture => self.go_on(done),
            Verb::SaveAs if self.copy().exists() => {
                assert_eq!(bodies(&self.copy()), self.known, "a copy under its name is whole");
                fs::remove_dir_all(self.copy()).unwrap();
            }
            Verb::SaveAs => assert!(!done),
            Verb::Migrate | Verb::Import => {
                let again = run(&self.words(true).iter().map(String::as_str).collect::<Vec<_>>());
                assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
            }
        }
        // The next writer can open it.
        ProjectWriter::open(self.project()).unwrap().close().unwrap();
        self.known = bodies(&self.project());
        if self.verb == Verb::Migrate {
            assert_eq!(Project::open(self.project()).unwrap().version(), MajorVersion::Tree);
        }
    }

    /// Resumes a started capture, and asserts that every page exists.
    fn go_on(&self, done: bool) {
        if done || !self.project().join("varve.capture/frontier.db").exists() {
            return;
        }
        let words = self.words(true);
        let again = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        if again.status.code() == Some(2) {
            // It was killed before the run started, or after it ended.
            assert!(stderr(&again).contains("no "), "{}", stderr(&again));
            return;
        }
        assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
        let last = stdout(&again).lines().last().unwrap().to_owned();
        let ended: serde_json::Value = serde_json::from_str(&last).unwrap();
        assert_eq!(ended["finished"], true, "{last}");
        let project = Project::open(self.project()).unwrap();
        let group = project.groups().next().unwrap().unwrap();
        let members: Vec<_> = project.members(&group).map(Result::unwrap).collect();
        assert_eq!(members.len(), PAGES);
        for member in members {
            assert!(project.revisions_of(member.id).next().is_some(), "{} is not there", member.url);
        }
    }
}

#[test]
fn no_body_is_ever_lost() {
    let kills = std::env::var("VARVE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(EVERY_DAY);
    let web = Web::serve(Site::new().with_pages());
    let mut durations = BTreeMap::new();
    for (at, verb) in VERBS.into_iter().enumerate() {
        let round = Round::new(verb, &web);
        let began = Instant::now();
        round.kill_after(Duration::ZERO);
        let words = round.words(false);
        if verb == Verb::Capture {
            let _ = fs::remove_dir_all(round.project().join("varve.capture"));
        }
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{verb:?}: {}", stderr(&output));
        durations.insert(at, began.elapsed());
    }
    let (mut rounds, mut in_time): ([Option<Round>; 4], u64) = (Default::default(), 0);
    for seed in 0..kills {
        let at = (seed % 4) as usize;
        let is_fresh = VERBS[at] != Verb::Capture || (seed / 4).is_multiple_of(CAPTURES);
        if is_fresh || rounds[at].is_none() {
            rounds[at] = Some(Round::new(VERBS[at], &web));
        }
        let share = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1 << 24) as f64;
        let round = rounds[at].as_mut().unwrap();
        let done = round.kill_after(durations[&at].mul_f64(share));
        in_time += u64::from(!done);
        round.check(done);
        if (seed + 1).is_multiple_of(TOLD_EVERY) {
            let said = format!("{} of {kills}: nothing was lost so far\n", seed + 1);
            std::io::stderr().write_all(said.as_bytes()).unwrap();
        }
    }
    let said = format!("{in_time} of {kills} were killed in time; nothing was lost\n");
    std::io::stderr().write_all(said.as_bytes()).unwrap();
    assert!(in_time * 3 > kills, "only {in_time} of {kills} were killed in time");
}
