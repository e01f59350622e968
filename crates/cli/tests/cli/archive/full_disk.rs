//! A full disk: existing content can be read, and a failed write asks for free space and nothing else.

use varve_testkit::TinyDisk;
use varve_testkit::web::{Answer, Site, Web};

use super::{Scene, noise, stderr, stdout};

/// The layouts with versions, each with one, on a disk that is soon full.
fn on_a_tiny_disk(scene: &Scene) -> Option<TinyDisk> {
    let disk = TinyDisk::mount(&scene.path("disk"), 2048)?;
    scene.data(&["init", "disk/archive"]);
    std::fs::create_dir_all(scene.path("disk/site/.moku")).unwrap();
    scene.file("page", b"<p>a page</p>");
    for layout in LAYOUTS {
        scene.data(&["-C", layout, "commit", "page", "--url", "https://e.org/", "-m", "a page"]);
    }
    Some(disk)
}

const LAYOUTS: [&str; 2] = ["disk/archive", "disk/site"];

#[test]
fn a_full_disk_can_be_read() {
    let scene = Scene::new(&[]);
    let Some(disk) = on_a_tiny_disk(&scene) else { return };
    disk.fill(0).unwrap();
    for layout in LAYOUTS {
        for words in [
            &["log"][..],
            &["--readonly", "log"],
            &["log", "https://e.org/"],
            &["cat", "https://e.org/"],
            &["show", "HEAD"],
            &["diff", "HEAD", "HEAD"],
            &["audit"],
            &["--readonly", "audit"],
            &["score"],
        ] {
            let output = scene.run(&[&["-C", layout], words].concat());
            assert_eq!(output.status.code(), Some(0), "{layout} {words:?}: {}", stderr(&output));
        }
        assert_eq!(scene.data(&["-C", layout, "cat", "https://e.org/"]), b"<p>a page</p>");
        let said = stderr(&scene.run(&["-C", layout, "score"]));
        assert!(said.contains("the score is not stored: its disk is full"), "{said}");
    }
}

/// With any amount of free space, the hint of a failure asks for space, and never for a rebuild of intact content.
#[test]
fn a_failed_write_on_a_full_disk_asks_for_space() {
    let scene = Scene::new(&[]);
    let Some(disk) = on_a_tiny_disk(&scene) else { return };
    scene.file("long", &noise(100_000, 7));
    for layout in LAYOUTS {
        for room in [0, 8, 40, 128, 160, 200, 260] {
            disk.fill(room).unwrap();
            let url = format!("https://e.org/{room}");
            let output = scene.run(&["-C", layout, "commit", "long", "--url", &url, "-m", "more"]);
            let said = stderr(&output);
            if output.status.code() != Some(0) {
                assert_eq!(output.status.code(), Some(2), "{said}");
                assert!(said.contains("hint: free space on that disk"), "{layout} {room}: {said}");
                assert!(said.contains(&format!("the disk of `{layout}` is full: ")), "{room}: {said}");
                let kept =
                    ["no version was made, and earlier ones are complete", " is stored, and the next verb"];
                assert!(kept.iter().any(|words| said.contains(words)), "{layout} {room}: {said}");
                assert!(!said.contains("rebuild") && !said.contains("a copy"), "{layout} {room}: {said}");
            }
            assert_eq!(scene.data(&["-C", layout, "cat", "https://e.org/"]), b"<p>a page</p>");
            disk.free().unwrap();
        }
        // With free space again, the verb succeeds, and the audit finds nothing.
        scene.data(&["-C", layout, "commit", "page", "--url", "https://e.org/again", "-m", "again"]);
        let audit = scene.run(&["-C", layout, "audit"]);
        assert_eq!(audit.status.code(), Some(0), "{}", stdout(&audit));
    }
}

#[test]
fn a_crawl_that_fills_the_disk_can_be_resumed() {
    let scene = Scene::new(&[]);
    let Some(disk) = on_a_tiny_disk(&scene) else { return };
    let links: String = (0..40).map(|number| format!("<a href=/{number}>x</a>")).collect();
    let long = |number: u64| Answer::of("text/html", noise(60_000, number));
    let site = (0..40).fold(Site::new().page("/", Answer::html(links)), |site, number| {
        site.page(&format!("/{number}"), long(number))
    });
    let web = Web::serve(site);
    let quick = ["--scope", "host", "--allow-private", "--delay", "0"];
    let url = web.url("/");
    let output = scene.run(&[&["-C", "disk/archive", "capture", &url], &quick[..]].concat());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("then `varve capture --resume` continues"), "{said}");
    let remounted =
        std::process::Command::new("mount").args(["-o", "remount,size=16384k"]).arg(disk.path()).status();
    assert!(remounted.unwrap().success());
    let output = scene.run(&["-C", "disk/archive", "capture", "--resume", "--delay", "0"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(scene.data(&["-C", "disk/archive", "cat", &web.url("/39")]), noise(60_000, 39));
    let audit = scene.run(&["-C", "disk/archive", "audit"]);
    assert_eq!(audit.status.code(), Some(0), "{}", stdout(&audit));
}
