//! The request that is made for a client: what is sent, and what of it is recorded.
//!
//! A request is passed on as it came, with these exceptions. Conditions are removed until the
//! recording has the page, because the answer "not modified" would leave the archive without it.
//! Codings that no archive can decode are not offered. Credentials are sent and never recorded: the
//! headers that `varve-fetch` leaves out, and bodies with a field that holds a secret.

use http::{HeaderMap, Method};
use serde_json::Value;
use varve_core::headers::decode_header_text;
use varve_fetch::FetchRequest;

/// Headers that the client of `varve-fetch` makes itself, or that are settled here.
const NOT_PASSED_ON: [&str; 6] =
    ["host", "content-length", "expect", "trailer", "available-dictionary", "dictionary-id"];

/// The conditions of a request for what the client does not have yet.
const CONDITION_HEADERS: [&str; 4] = ["if-none-match", "if-modified-since", "if-range", "range"];

/// Content codings that need a dictionary.
const DICTIONARY_CODINGS: [&str; 3] = ["dcb", "dcz", "sdch"];

/// Words in names of fields whose value is a secret.
const SECRET_WORDS: [&str; 10] = [
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "credential",
    "access_token",
    "refresh_token",
    "id_token",
    "code_verifier",
    "cardnumber",
];

/// Whole names of fields whose value is a secret.
const SECRET_NAMES: [&str; 8] = ["pass", "pin", "otp", "totp", "cvc", "cvv", "pw", "assertion"];

/// The request of a client, without its body.
pub(super) struct ClientRequest<'a> {
    pub(super) url: &'a str,
    pub(super) method: &'a Method,
    pub(super) headers: &'a HeaderMap,
    pub(super) is_http2: bool,
}

/// The request to make. `is_recorded` says whether the recording has the page.
pub(super) fn forwarded_request(
    client: &ClientRequest<'_>,
    body: Vec<u8>,
    is_recorded: bool,
) -> FetchRequest {
    let mut request = FetchRequest {
        method: client.method.as_str().to_owned(),
        is_verbatim: true,
        hides_body: holds_secret(client.headers, &body),
        body,
        ..FetchRequest::get(client.url)
    };
    let is_first = client.method == Method::GET && !is_recorded;
    // What many browsers ask for first of a video: all of it.
    let is_whole = client.headers.get("range").is_none_or(|range| range == "bytes=0-");
    let is_unconditional = is_first && is_whole;
    for (name, value) in client.headers {
        let is_condition = CONDITION_HEADERS.contains(&name.as_str());
        if NOT_PASSED_ON.contains(&name.as_str()) || (is_condition && is_unconditional) {
            continue;
        }
        let mut value = decode_header_text(value.as_bytes()).into_owned();
        if name == "accept-encoding" {
            value = without_dictionaries(&value);
        }
        let name = if client.is_http2 { name.as_str().to_owned() } else { title_case(name.as_str()) };
        request.headers.push((name, value));
    }
    request
}

/// A name as clients of HTTP/1.1 write it. The proxy receives names without their case.
fn title_case(name: &str) -> String {
    let mut is_first = true;
    let write = |character: char| {
        let written = if is_first { character.to_ascii_uppercase() } else { character };
        is_first = character == '-';
        written
    };
    // The headers of browsers that begin with `sec-ch-` are lower-case.
    if name.starts_with("sec-ch-") { name.to_owned() } else { name.chars().map(write).collect() }
}

fn without_dictionaries(codings: &str) -> String {
    let name = |coding: &&str| coding.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let kept = codings.split(',').filter(|coding| !DICTIONARY_CODINGS.contains(&name(coding).as_str()));
    kept.map(str::trim).collect::<Vec<_>>().join(", ")
}

/// Whether a body has a field whose name says that its value is a secret.
fn holds_secret(headers: &HeaderMap, body: &[u8]) -> bool {
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.to_ascii_lowercase();
    if kind.starts_with("multipart/") {
        return multipart_names(body).any(|name| is_secret(&name));
    }
    if kind.contains("json") {
        return serde_json::from_slice::<Value>(body).is_ok_and(|value| json_holds_secret(&value));
    }
    if kind.starts_with("application/x-www-form-urlencoded") || kind.starts_with("text/plain") {
        let names = body.split(|byte| *byte == b'&').map(|pair| pair.split(|byte| *byte == b'='));
        let mut names = names.map(|mut pair| pair.next().unwrap_or_default());
        return names.any(|name| is_secret(&percent_encoding::percent_decode(name).decode_utf8_lossy()));
    }
    false
}

/// The names of the parts of a form.
fn multipart_names(body: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(body).into_owned();
    let names: Vec<String> = text
        .split("name=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|name| name.len() < 200)
        .map(str::to_owned)
        .collect();
    names.into_iter()
}

fn json_holds_secret(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| is_secret(name) || json_holds_secret(value))
        }
        Value::Array(values) => values.iter().any(json_holds_secret),
        _ => false,
    }
}

fn is_secret(name: &str) -> bool {
    let plain: String = name.to_ascii_lowercase().replace('-', "_");
    let joined = plain.replace('_', "");
    let last = plain.rsplit(['[', '.', ']', '_']).find(|part| !part.is_empty()).unwrap_or(&plain);
    SECRET_WORDS.iter().any(|word| plain.contains(word) || joined.contains(&word.replace('_', "")))
        || SECRET_NAMES.contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn sent(pairs: &[(&'static str, &'static str)], is_recorded: bool) -> Vec<String> {
        let headers = headers(pairs);
        let client =
            ClientRequest { url: "http://h/", method: &Method::GET, headers: &headers, is_http2: false };
        let request = forwarded_request(&client, Vec::new(), is_recorded);
        request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }

    #[test]
    fn conditions_are_sent_only_for_pages_that_the_recording_has() {
        let pairs = [("if-none-match", "\"a\""), ("host", "h"), ("user-agent", "x")];
        assert_eq!(sent(&pairs, false), ["User-Agent: x"]);
        assert_eq!(sent(&pairs, true), ["If-None-Match: \"a\"", "User-Agent: x"]);
        let range = [("range", "bytes=5-9"), ("if-none-match", "\"a\"")];
        assert_eq!(sent(&range, false).len(), 2);
        assert_eq!(sent(&[("range", "bytes=0-")], false), [""; 0]);
        assert_eq!(sent(&[("range", "bytes=0-")], true).len(), 1);
    }

    #[test]
    fn codings_with_dictionaries_are_not_offered() {
        let pairs = [("accept-encoding", "gzip, dcb, br;q=0.5, dcz"), ("sec-ch-ua", "x")];
        assert_eq!(sent(&pairs, false), ["Accept-Encoding: gzip, br;q=0.5", "sec-ch-ua: x"]);
    }

    #[test]
    fn bodies_with_secrets_are_recognised() {
        let form = headers(&[("content-type", "application/x-www-form-urlencoded; charset=utf-8")]);
        for (body, expected) in [
            ("user=me&password=x", true),
            ("user%5Bpass%5D=x", true),
            ("newPassword=x", true),
            ("client-secret=x", true),
            ("pin=1", true),
            ("q=password", false),
            ("shipping=1&spinning=2&compass=n", false),
            ("csrf_token=1", false),
            ("", false),
        ] {
            assert_eq!(holds_secret(&form, body.as_bytes()), expected, "{body}");
        }
        let json = headers(&[("content-type", "application/json")]);
        assert!(holds_secret(&json, br#"{"a":[{"accessToken":"x"}]}"#));
        assert!(!holds_secret(&json, br#"{"note":"my password"}"#));
        let parts = headers(&[("content-type", "multipart/form-data; boundary=x")]);
        assert!(holds_secret(
            &parts,
            b"--x\r\nContent-Disposition: form-data; name=\"passwd\"\r\n\r\nx\r\n--x--"
        ));
        assert!(!holds_secret(
            &parts,
            b"--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\npassw\r\n--x--"
        ));
    }
}
