//! `varve extract` of files, standard input and lists of URLs, and what is said about what it captures.

use varve_testkit::web::{Answer, Site, Web};

use crate::history::Place;
use crate::{run, run_with_input, stderr, stdout};

const PAGE: &str = "<!doctype html><html lang=en><head><title>Lakes</title><meta name=author content='Ada L.'>
    <meta property='article:published_time' content='2024-03-01'></head><body><article><h1>Lakes</h1>
    <p>A varve is the thin layer of sediment that a lake lays down in a year, pale in summer and dark in winter.</p>
    <p>Whoever reads the layers reads the history of the lake, and of the weather around it, year by year.</p>
    </article></body></html>";

#[test]
fn a_page_on_standard_input_is_read() {
    let output = run_with_input(&["extract", "-", "--json"], PAGE.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&page["title"], &page["date"]), (&"Lakes".into(), &"2024-03-01T00:00:00Z".into()));
    assert_eq!(page["authors"][0], "Ada L.");
    assert!(page["content_text"].as_str().unwrap().contains("thin layer of sediment"), "{page}");
    assert!(page.get("fetch_time").is_none() && page.get("status_code").is_none(), "{page}");
}

#[test]
fn a_file_is_read_and_one_that_cannot_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, PAGE).unwrap();
    let (file, missing) = (file.to_str().unwrap(), folder.path().join("missing.html"));
    let output = run(&["extract", file, "--no-text"]);
    let text = stdout(&output);
    assert!(text.starts_with("Lakes\n") && text.contains("authors: Ada L.\n"), "{text}");
    assert!(text.contains("date: 2024-03-01\n") && !text.contains("sediment"), "{text}");
    let output = run(&["extract", missing.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("missing.html"), "{}", stderr(&output));
}

#[test]
fn a_column_without_urls_is_an_error_and_other_lines_are_counted() {
    let (place, web) = (Place::new(true), Web::serve(Site::new().page("/a", Answer::html(PAGE))));
    place.file("list.csv", &format!("name,link\nlakes,{}\nnone,\n", web.url("/a")));
    let failure = place.failure(&["extract", "--csv", "list.csv", "--allow-private"]);
    assert!(failure.contains("column 1 of `list.csv` has no URL"), "{failure}");
    let output = place.run(&["extract", "--csv", "list.csv", "--column", "2", "--allow-private", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!((stdout(&output).lines().count(), web.total()), (1, 1));
    assert!(
        stderr(&output).contains("2 lines of `list.csv` passed over: no URL in column 2"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_page_without_text_names_the_browser() {
    let web = Web::serve(Site::new().page("/a", Answer::html("<title>App</title><script>start()</script>")));
    let output = Place::new(true).run(&["extract", &web.url("/a"), "--allow-private"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("`--headless`"), "{}", stderr(&output));
}

#[test]
fn captures_of_a_page_that_declared_the_url_are_named() {
    let head = |request: &varve_testkit::web::Request| {
        Answer::html(
            PAGE.replace("<head>", &format!("<head><link rel=canonical href='{}'>", request.url("/lakes"))),
        )
    };
    let (place, web) = (Place::new(true), Web::serve(Site::new().computed("/mobile", head)));
    let (declared, captured) = (web.url("/lakes"), web.url("/mobile"));
    place.data(&["extract", &captured, "--allow-private"]);
    for verb in ["log", "cat", "blame"] {
        let said = stderr(&place.run(&[verb, &declared]));
        assert!(said.contains(&format!("found as `{captured}`")), "{verb}: {said}");
        assert_eq!(stderr(&place.run(&[verb, &captured])), "", "{verb}");
    }
}

#[test]
fn a_version_that_cannot_be_indexed_is_complete_and_said_to_be() {
    let (place, web) = (Place::new(true), Web::serve(Site::new().page("/a", Answer::html(PAGE))));
    std::fs::create_dir_all(place.path("museum/search.db/in-the-way")).unwrap();
    let captured = place.run(&["capture", &web.url("/a"), "--allow-private", "--ignore-robots"]);
    assert_eq!(captured.status.code(), Some(0), "{}", stderr(&captured));
    let extracted = place.run(&["extract", &web.url("/a"), "--allow-private"]);
    for output in [&captured, &extracted] {
        assert!(
            stderr(output).contains("warning: the search index could not be updated"),
            "{}",
            stderr(output)
        );
    }
    assert_eq!(place.lines(&["log", "--json"]).len(), 2);
    std::fs::remove_dir_all(place.path("museum/search.db")).unwrap();
    assert!(place.data(&["search", "sediment"]).contains("[sediment]"));
}

#[test]
fn many_pages_are_printed_in_order_and_make_one_version() {
    let page = |title: &str| Answer::html(PAGE.replace("Lakes", title));
    let web = Web::serve(Site::new().page("/a", page("Ponds")).page("/b", page("Rivers")));
    let place = Place::new(true);
    place.file("local.html", PAGE);
    let urls = ["/b", "/missing", "/a", "/b?utm_source=x"].map(|path| web.url(path));
    let words =
        [&["extract", "--allow-private", "--json", "local.html"], &urls.each_ref().map(String::as_str)[..]];
    let output = place.run(&words.concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let pages: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let titles: Vec<_> = pages.iter().map(|page| page["title"].as_str()).collect();
    assert_eq!(
        (titles[0], titles[1], titles[3], titles[4]),
        (Some("Lakes"), Some("Rivers"), Some("Ponds"), Some("Rivers"))
    );
    assert_eq!(pages[2]["status_code"], 404);
    assert_eq!((place.lines(&["log", "--json"]).len(), web.count("/b")), (1, 1));
    let saved = place.run(&["--readonly", "extract", "--json", &urls[2], &web.url("/new"), &urls[0]]);
    let read: Vec<bool> = stdout(&saved).lines().map(|line| line.contains("\"title\"")).collect();
    assert_eq!((saved.status.code(), read), (Some(1), vec![true, false, true]), "{}", stderr(&saved));
}
