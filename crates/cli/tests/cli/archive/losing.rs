//! Reports about lost content.

use super::{Scene, stderr, stdout};

/// Commits a page, and returns the offset of its manifest, the last record of the silo.
fn commit(scene: &Scene, text: &str) -> usize {
    scene.file("page", text.as_bytes());
    scene.data(&["commit", "page", "--url", "https://e.org/", "-m", text]);
    let silo = std::fs::read(&scene.silos()[0]).unwrap();
    silo.windows(3).rposition(|bytes| bytes == [0x1f, 0x8b, 8]).unwrap()
}

#[test]
fn a_lost_version_loses_only_itself_and_its_score() {
    let scene = Scene::new(&[]);
    commit(&scene, "one");
    let manifest = commit(&scene, "two");
    commit(&scene, "three");
    scene.data(&["score", "HEAD~1"]);
    let silo = &scene.silos()[0];
    let mut bytes = std::fs::read(silo).unwrap();
    bytes[manifest + 30] ^= 0x55;
    std::fs::write(silo, bytes).unwrap();
    std::fs::remove_dir_all(scene.path("museum/index")).unwrap();
    for name in ["catalog.db", "HEAD"] {
        std::fs::remove_file(scene.path("museum").join(name)).unwrap();
    }
    let output = scene.run(&["rebuild"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("warning: there is a score of version"), "{said}");
    assert!(said.contains(", which is not in this archive\n"), "{said}");
    let told: serde_json::Value =
        serde_json::from_str(&stdout(&scene.run(&["rebuild", "--json"]))).expect("JSON");
    let left_out = told["left_out"].as_array().expect("a list");
    assert!(
        matches!(&left_out[..], [one] if said.contains(&format!("warning: {}\n", one.as_str().unwrap()))),
        "{told}"
    );
    let log = String::from_utf8(scene.data(&["log"])).unwrap();
    assert!(log.contains("three") && log.contains("one") && !log.contains("two"), "{log}");
    assert_eq!(scene.data(&["cat", "https://e.org/"]), b"three");
    commit(&scene, "four");
    let audit = stdout(&scene.run(&["audit", "--json"]));
    assert!(audit.contains("there is a score of version") && !audit.contains("not-compared"), "{audit}");
}

#[test]
fn a_temporarily_unreachable_silo_loses_nothing() {
    let scene = Scene::new(&[]);
    commit(&scene, "one");
    let museum = scene.path("museum");
    let names = ["catalog.db", "HEAD"];
    let kept = names.map(|name| std::fs::read(museum.join(name)).unwrap());
    commit(&scene, "two");
    names.iter().zip(&kept).for_each(|(name, kept)| std::fs::write(museum.join(name), kept).unwrap());
    let (silo, away) = (scene.silos()[0].clone(), scene.path("away"));
    std::fs::rename(&silo, &away).unwrap();
    let output = scene.run(&["tag", "here", "HEAD"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("silo 0 is missing") && said.contains("`varve rebuild`"), "{said}");
    std::fs::rename(&away, &silo).unwrap();
    commit(&scene, "three");
    let log = String::from_utf8(scene.data(&["log"])).unwrap();
    assert!(["one", "two", "three"].iter().all(|message| log.contains(message)), "{log}");
}
