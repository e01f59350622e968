//! `varve extract` of files and standard input, which needs neither an archive nor a network.

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
