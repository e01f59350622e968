//! Hints for failed requests: the same in every verb that uses the network.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use varve_testkit::web::{Answer, Certificate, Site, Web};

use crate::{stderr, varve};

const TRUST: &str = "hint: `--ca FILE` trusts the certificates in a file besides those of the system\n";

/// Requests a URL with every verb that uses the network; returns the output of each.
fn ask(url: &str) -> Vec<(&'static str, String)> {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let mut command = varve();
        stderr(
            &command.current_dir(folder.path()).env("VARVE_ARCHIVE", "museum").args(words).output().unwrap(),
        )
    };
    run(&["init", "museum"]);
    run(&["urls", "add", "--offline", "--domain-file", url]);
    let pace = ["--allow-private", "--delay", "0"];
    let told = |words: &[&str]| run(&[words, &pace[..]].concat());
    let other = format!("{url}other");
    vec![
        ("capture", told(&["capture", url, "--retries", "0"])),
        ("check", told(&["check", "--retries", "0"])),
        ("check --no-capture", told(&["check", "--no-capture", "--retries", "0"])),
        ("urls check", told(&["urls", "check", "--retries", "0"])),
        ("urls add", told(&["urls", "add", &other])),
    ]
}

fn site() -> Site {
    Site::new().page("/", Answer::html("<p>here</p>"))
}

#[test]
fn an_untrusted_certificate() {
    let web = Web::serve_tls(site(), &Certificate::for_names(&["127.0.0.1"]));
    for (verb, told) in ask(&web.url("/")) {
        assert!(told.contains(TRUST), "{verb}: {told}");
    }
}

/// A server that sends the same bytes to every client.
fn saying(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(bytes);
        }
    });
    address
}

#[test]
fn tls_to_an_http_server() {
    let address = saying(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    for (verb, told) in ask(&format!("https://{address}/")) {
        let hint = format!("hint: `http://{address}/");
        assert!(told.contains(&hint) && told.contains("` may be the right URL\n"), "{verb}: {told}");
    }
}

/// The TLS alert of a server, and the HTTP page of nginx.
#[test]
fn http_to_a_tls_server() {
    let page: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n\
                        <center>The plain HTTP request was sent to HTTPS port</center>";
    for said in [&[21, 3, 1, 0, 2, 2, 22][..], page] {
        let address = saying(said);
        for (verb, told) in ask(&format!("http://{address}/")) {
            let hint = format!("hint: `https://{address}/");
            assert!(told.contains(&hint) && told.contains("` may be the right URL\n"), "{verb}: {told}");
        }
    }
}
