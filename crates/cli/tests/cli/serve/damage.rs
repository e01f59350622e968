//! An index that is damaged, before the server starts or while it runs.

use super::{page, serving};

#[test]
fn pages_are_served_from_the_silos_where_the_index_is_damaged() {
    let pages = [1, 2, 3].map(|number| {
        let time = format!("2026-01-0{number}T00:00:00Z");
        page(&format!("http://e.org/{number}"), &time, &format!("<p>page {number}</p>"))
    });
    let (place, served) = serving(true, &pages);
    drop(served);
    place.data(&["housekeeping"]);
    let sorted = place.path("museum/index/sorted");
    let whole = std::fs::read(&sorted).unwrap();
    let mut damaged = whole.clone();
    // Entries begin at byte 4096.
    damaged[4096..].iter_mut().for_each(|byte| *byte ^= 1);
    std::fs::write(&sorted, damaged).unwrap();
    let served = super::Served::start(&place.path("museum"));
    for number in 1..=3 {
        let reply = served.get(&format!("/web/2999id_/http://e.org/{number}"));
        assert_eq!((reply.status, reply.text()), (200, format!("<p>page {number}</p>")));
    }
}

/// While the catalog is damaged, the server says what to do; once it is made again, the server continues.
#[test]
fn a_catalog_that_is_damaged_while_it_is_served_is_answered_with_the_remedy() {
    let pages = [1, 2, 3].map(|number| {
        let time = format!("2026-01-0{number}T00:00:00Z");
        page(&format!("http://e.org/{number}"), &time, &format!("<p>page {number}</p>"))
    });
    for damage in ["junk", "overwritten", "truncated", "emptied"] {
        let (place, served) = serving(true, &pages);
        assert_eq!(served.get("/web/2999id_/http://e.org/1").status, 200);
        let catalog = place.path("museum/catalog.db");
        let whole = std::fs::read(&catalog).unwrap();
        match damage {
            // Another file in its place, as a restored copy is.
            "junk" => {
                std::fs::remove_file(&catalog).unwrap();
                std::fs::write(&catalog, "junk ".repeat(5000)).unwrap();
            }
            "overwritten" => std::fs::write(&catalog, vec![0x55; whole.len()]).unwrap(),
            "truncated" => std::fs::write(&catalog, &whole[..whole.len() / 2]).unwrap(),
            _ => std::fs::write(&catalog, "").unwrap(),
        }
        let mut refused = 0;
        for reply in [
            served.get("/web/2999id_/http://e.org/1"),
            served.get("/web/2999/http://e.org/2"),
            served.get("/timemap/link/http://e.org/3"),
            served.page("/page?url=http://e.org/3"),
            served.page("/"),
            served.page("/cdx?url=http://e.org/2"),
        ] {
            assert!(matches!(reply.status, 200 | 503), "{damage}: {reply:?}");
            if reply.status == 503 {
                refused += 1;
                assert!(reply.text().contains("`varve rebuild` makes"), "{damage}: {reply:?}");
                assert!(reply.header("retry-after").is_some(), "{damage}: {reply:?}");
            }
        }
        assert!(refused > 0, "{damage}: the damage was met");
        assert_eq!(served.page("/.well-known/heartbeat").status, 200);
        place.data(&["rebuild"]);
        for number in 1..=3 {
            let reply = served.get(&format!("/web/2999id_/http://e.org/{number}"));
            assert_eq!((reply.status, reply.text()), (200, format!("<p>page {number}</p>")), "{damage}");
        }
    }
}

/// SQLite maps that file. An access beyond its end would kill the process without a message.
#[cfg(target_os = "linux")]
#[test]
fn shared_memory_that_is_cut_while_it_is_served_ends_the_server_with_an_error() {
    use std::io::Write;
    let (place, mut served) =
        serving(true, &[page("http://e.org/1", "2026-01-01T00:00:00Z", "<p>page 1</p>")]);
    assert_eq!(served.get("/web/2999id_/http://e.org/1").status, 200);
    let memory = place.path("museum/catalog.db-shm");
    std::fs::OpenOptions::new().write(true).open(&memory).unwrap().set_len(0).unwrap();
    let mut connection = std::net::TcpStream::connect(&served.replay).unwrap();
    let request = format!("GET /web/2999id_/http://e.org/1 HTTP/1.1\r\nHost: {}\r\n\r\n", served.replay);
    connection.write_all(request.as_bytes()).unwrap();
    assert_eq!(served.wait(), Some(2));
    // Another server works.
    let served = super::Served::start(&place.path("museum"));
    assert_eq!(served.get("/web/2999id_/http://e.org/1").text(), "<p>page 1</p>");
}
