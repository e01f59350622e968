//! `varve seal` and `varve verify` as a user calls them, and as the programs of others check the result:
//! `openssl` for signatures and timestamps, Python for proofs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use varve_testkit::{Requirement, skip};

use crate::{run, stderr, stdout};

/// The program of `docs/evidence.md`.
const EVIDENCE_DOC: &str = include_str!("../../../../docs/evidence.md");

/// An archive with two versions of a page, and a key.
fn archive(root: &Path) -> String {
    let path = root.join("museum").display().to_string();
    let page = root.join("page.html");
    done(&["init", &path]);
    for text in ["one", "two"] {
        std::fs::write(&page, text).unwrap();
        done(&["-C", &path, "commit", page.to_str().unwrap(), "--url", "https://e.org/", "-m", text]);
    }
    path
}

fn done(words: &[&str]) -> String {
    let output = run(words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
    stdout(&output)
}

/// The code blocks of the document in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    EVIDENCE_DOC.split(&begin).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn versions_are_sealed_verified_and_proven() {
    let root = tempfile::tempdir().unwrap();
    let path = archive(root.path());
    let nothing = run(&["-C", &path, "verify"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(stderr(&nothing).contains("nothing is sealed here"), "{}", stderr(&nothing));
    let no_key = run(&["-C", &path, "seal"]);
    assert_eq!(no_key.status.code(), Some(2));
    assert!(stderr(&no_key).contains("hint: `varve seal make-key`"), "{}", stderr(&no_key));
    let public = done(&["-C", &path, "seal", "make-key", "--name", "example.org/museum"]);
    let key = Path::new(&path).join("seal.key");
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(run(&["-C", &path, "seal", "make-key"]).status.code(), Some(2), "a key is not replaced");
    let checkpoint = done(&["-C", &path, "seal"]);
    assert!(checkpoint.starts_with("example.org/museum\n2\n"), "{checkpoint}");
    assert_eq!(done(&["-C", &path, "seal"]), checkpoint);
    let given = root.path().join("museum.checkpoint");
    std::fs::write(&given, &checkpoint).unwrap();
    let given = given.to_str().unwrap();
    let proof = root.path().join("proof.json");
    std::fs::write(&proof, done(&["-C", &path, "seal", "prove", "HEAD", "HEAD~1"])).unwrap();
    let proof = proof.to_str().unwrap();
    for words in [vec!["-C", &path, "verify"], vec!["verify", proof]] {
        let all = [&words[..], &["--checkpoint", given, "--key", public.trim()]].concat();
        let text = done(&all);
        assert!(text.starts_with("ok: 2 versions of the log `example.org/museum`"), "{text}");
        let other = "other+e40dcf40+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let wrong = run(&[&words[..], &["--key", other]].concat());
        assert_eq!(wrong.status.code(), Some(2), "a key with a wrong id: {}", stdout(&wrong));
        let json = run(&[&words[..], &["--json"]].concat());
        let last: Value = serde_json::from_str(stdout(&json).lines().last().unwrap()).unwrap();
        assert_eq!((&last["summary"]["leaves"], &last["summary"]["findings"]), (&2.into(), &0.into()));
    }
    // A changed proof is a finding, and another file an error.
    let text = std::fs::read_to_string(proof).unwrap();
    std::fs::write(proof, text.replace("\"leaf\":1", "\"leaf\":0")).unwrap();
    assert_eq!(run(&["verify", proof]).status.code(), Some(1));
    assert_eq!(run(&["verify", given]).status.code(), Some(2));
    // A key that others can read is refused.
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let readable = run(&["-C", &path, "seal"]);
    assert_eq!(readable.status.code(), Some(2));
    assert!(stderr(&readable).contains("other users of this machine can read"), "{}", stderr(&readable));
}

#[test]
fn others_verify_signature_and_proof_with_the_commands_of_the_document() {
    let root = tempfile::tempdir().unwrap();
    let path = archive(root.path());
    let public = done(&["-C", &path, "seal", "make-key", "--name", "example.org/museum"]);
    std::fs::write(root.path().join("museum.pub"), public).unwrap();
    std::fs::write(root.path().join("museum.checkpoint"), done(&["-C", &path, "seal"])).unwrap();
    std::fs::write(root.path().join("proof.json"), done(&["-C", &path, "seal", "prove"])).unwrap();
    let run_in = |program: &str, words: &[&str]| -> Option<Output> {
        Command::new(program).args(words).current_dir(root.path()).output().ok()
    };
    let shell = blocks("sh").into_iter().find(|block| block.contains("pkeyutl")).unwrap();
    match run_in("openssl", &["version"]) {
        None => skip(Requirement::Program("openssl"), "openssl is not installed"),
        Some(_) => {
            let verified = run_in("bash", &["-ec", shell]).unwrap();
            let text = stdout(&verified);
            assert!(text.contains("Signature Verified Successfully"), "{text}{}", stderr(&verified));
        }
    }
    let program = blocks("python").concat();
    let Some(output) = run_in("python3", &["-c", &program]) else {
        return skip(Requirement::Program("python3"), "python3 is not installed");
    };
    let text = stdout(&output);
    assert!(text.contains(" is leaf 1 of 2 in example.org/museum\n"), "{text}{}", stderr(&output));
}

#[test]
fn the_answer_of_an_authority_is_kept_and_shown() {
    let root = tempfile::tempdir().unwrap();
    let path = archive(root.path());
    let file = |name: &str| root.path().join(name).display().to_string();
    done(&["-C", &path, "seal", "make-key"]);
    done(&["-C", &path, "seal", "--timestamp-request", &file("request.tsq")]);
    let config = "[req]\ndistinguished_name=n\nprompt=no\n[n]\nCN=Clock\n[x]\nextendedKeyUsage=critical,timeStamping\n\
        [tsa]\ndefault_tsa=t\n[t]\nserial=./serial\nsigner_digest=sha256\ndefault_policy=1.2.3\ndigests=sha256\n";
    std::fs::write(file("tsa.cnf"), config).unwrap();
    std::fs::write(file("serial"), "01").unwrap();
    for words in [
        "req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 2 -config tsa.cnf -extensions x",
        "ts -reply -config tsa.cnf -queryfile request.tsq -signer c.pem -inkey k.pem -out answer.tsr",
    ] {
        let Ok(output) = Command::new("openssl").args(words.split(' ')).current_dir(root.path()).output()
        else {
            return skip(Requirement::Program("openssl"), "openssl is not installed");
        };
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let kept = run(&["-C", &path, "seal", "--timestamp", &file("answer.tsr")]);
    assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
    assert!(stderr(&kept).contains("2 sealed versions existed at 20"), "{}", stderr(&kept));
    let text = done(&["-C", &path, "verify"]);
    assert!(text.contains("timestamp: 2 versions existed at 20") && text.contains("says Clock"), "{text}");
    // openssl accepts the files that the archive keeps.
    let seal = Path::new(&path).join("seal");
    let stamps: Vec<_> =
        std::fs::read_dir(seal.join("timestamps")).unwrap().map(|one| one.unwrap().path()).collect();
    let checked = Command::new("openssl")
        .args(["ts", "-verify", "-in", stamps[0].to_str().unwrap(), "-data"])
        .arg(seal.join("checkpoints/2"))
        .args(["-CAfile", &file("c.pem")])
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", stderr(&checked));
    // The answer is for this archive alone.
    let other = tempfile::tempdir().unwrap();
    let other_path = archive(other.path());
    done(&["-C", &other_path, "seal", "make-key", "--name", "other"]);
    done(&["-C", &other_path, "seal"]);
    let refused = run(&["-C", &other_path, "seal", "--timestamp", &file("answer.tsr")]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("the timestamp is of other bytes"), "{}", stderr(&refused));
    assert_eq!(done(&["-C", &path, "audit"]).lines().count(), 1);
}
