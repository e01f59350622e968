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
