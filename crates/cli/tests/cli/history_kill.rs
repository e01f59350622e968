//! commit, checkout, score, gc and purge, killed at random moments, on both layouts.
//!
//! Each round runs a verb in a process of its own and kills it with SIGKILL somewhere between its start and the time that
//! the verb takes. Then the layout is opened for writing as anyone would: every version that was ever acknowledged, and
//! not taken out since, is there with all its pages; and audit finds nothing.
//!
//! `VARVE_KILLS` sets the number of kills; the default is small.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::history::Place;
use crate::{stderr, stdout};

const EVERY_DAY: u64 = 20;
/// Rounds that share a layout.
const ROUNDS: u64 = 10;
/// Pages of a version.
const PAGES: u64 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Commit,
    Checkout,
    Score,
    Clear,
    Purge,
}

const VERBS: [Verb; 5] = [Verb::Commit, Verb::Purge, Verb::Checkout, Verb::Clear, Verb::Score];

/// A layout with its acknowledged versions, by the content of their pages.
struct Round {
    place: Place,
    known: BTreeMap<String, u64>,
}

impl Round {
    fn new(is_archive: bool) -> Self {
        let mut round = Self { place: Place::new(is_archive), known: BTreeMap::new() };
        for seed in [1_000_000, 1_000_001, 1_000_002] {
            round.commit(seed);
        }
        round
    }

    fn pages(&self, seed: u64) {
        for number in 0..PAGES {
            // Every other page is unchanged.
            let said = if number % 2 == 0 { seed } else { number };
            self.place.file(&format!("site/{number}.html"), &format!("<form action=/{said}></form>{said}\n"));
        }
    }

    fn commit(&mut self, seed: u64) {
        self.pages(seed);
        let version =
            self.place.data(&words(Verb::Commit, seed).iter().map(|word| &**word).collect::<Vec<_>>());
        self.known.insert(version.trim().to_owned(), seed);
    }

    /// Asserts that every acknowledged version is complete.
    fn check(&self, what: &str) {
        for (version, seed) in &self.known {
            for number in [0, PAGES - 1] {
                let said = if number % 2 == 0 { *seed } else { number };
                let url = format!("https://e.org/{number}.html");
                let page = self.place.data(&["cat", &url, "--at", version]);
                assert_eq!(page, format!("<form action=/{said}></form>{said}\n"), "{what}: {version}, {url}");
            }
        }
    }
}

fn words(verb: Verb, seed: u64) -> Vec<String> {
    let words: Vec<&str> = match verb {
        Verb::Commit => vec!["commit", "--from", "site", "--base-url", "https://e.org/", "-m", "a round"],
        Verb::Checkout if seed.is_multiple_of(2) => vec!["checkout", "HEAD~1"],
        Verb::Checkout => vec!["checkout", "HEAD"],
        Verb::Score => vec!["score", "HEAD", "--json"],
        Verb::Clear => vec!["gc", "--keep-last", "3"],
        Verb::Purge => vec!["purge", "--drop", "https://e.org/none-kept.html", "--reason", "a round"],
    };
    words.into_iter().map(str::to_owned).collect()
}

/// Makes what the verb will remove.
fn prepare(round: &mut Round, verb: Verb, seed: u64) {
    match verb {
        Verb::Commit => round.pages(seed),
        Verb::Purge => {
            round.place.file("none-kept.html", &format!("to be taken out {seed}"));
            let url = "https://e.org/none-kept.html";
            round.place.data(&["commit", "none-kept.html", "--url", url, "-m", "to be taken out"]);
        }
        _ => {}
    }
}

/// Runs a verb and kills it after `patience`; returns its output if it finished.
fn run_and_kill(place: &Place, words: &[String], patience: Duration) -> Option<String> {
    let mut command = place.command();
    let mut child = command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(patience);
    child.kill().unwrap();
    let ended = child.wait_with_output().unwrap();
    let well = ended.status.code().is_none_or(|code| code == 0);
    assert!(well, "{words:?} could not do its work: {}", stderr(&ended));
    let said = stdout(&ended);
    // An incomplete line does not count.
    said.ends_with('\n').then_some(said)
}

fn one_round(round: &mut Round, verb: Verb, seed: u64, duration: Duration) {
    let what = format!("{verb:?}, {seed}, archive {}", round.place.is_archive);
    prepare(round, verb, seed);
    let share = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1 << 24) as f64;
    let said = run_and_kill(&round.place, &words(verb, seed), duration.mul_f64(share));
    if verb == Verb::Commit
        && let Some(said) = said
    {
        round.known.insert(said.trim().to_owned(), seed);
    }
    // The next verb that writes recovers.
    round.place.data(&["tag", "last"]);
    if verb == Verb::Clear && !round.place.is_archive {
        // Which versions were removed depends on the moment; the listed ones are complete.
        let log = round.place.data(&["log", "--json"]);
        round.known.retain(|version, _| log.contains(version.as_str()));
        assert!(log.lines().count() >= 3, "{what}: {log}");
    }
    round.check(&what);
    let audit = round.place.run(&["audit"]);
    assert_eq!(audit.status.code(), Some(0), "{what}: {}{}", stdout(&audit), stderr(&audit));
    round.commit(2_000_000 + seed);
}

/// The time that a verb takes when it is not killed.
fn duration(verb: Verb, is_archive: bool) -> Duration {
    let mut round = Round::new(is_archive);
    prepare(&mut round, verb, 2);
    let began = Instant::now();
    let output = round.place.command().args(words(verb, 2)).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    began.elapsed()
}

#[test]
fn history_survives_a_kill_at_any_moment_of_its_verbs() {
    let kills = std::env::var("VARVE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(EVERY_DAY);
    for is_archive in [true, false] {
        let verbs: Vec<Verb> = VERBS.into_iter().filter(|verb| is_archive || *verb != Verb::Purge).collect();
        let durations: Vec<Duration> = verbs.iter().map(|verb| duration(*verb, is_archive)).collect();
        let mut round = Round::new(is_archive);
        for seed in 1..=kills / 2 {
            if seed % ROUNDS == 0 {
                round = Round::new(is_archive);
            }
            let number = usize::try_from(seed).unwrap() % verbs.len();
            one_round(&mut round, verbs[number], seed, durations[number]);
        }
    }
}
