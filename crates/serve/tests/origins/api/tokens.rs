//! What needs a token, how it comes, and which tokens are refused.

use std::time::SystemTime;

use serde_json::{Value, json};
use varve_serve::token::{SigningKey, TokenClaims};
use varve_testkit::web::{Site, Web};

use super::super::museum::Museum;
use super::{Api, ApiOptions, value};

const PROTECTED: [(&str, &str); 11] = [
    ("GET", "/extract"),
    ("POST", "/extract"),
    ("DELETE", "/extract"),
    ("GET", "/extract/headless"),
    ("POST", "/batch"),
    ("GET", "/feed"),
    ("GET", "/history"),
    ("GET", "/settings/domain"),
    ("GET", "/settings/domain/example.com"),
    ("PUT", "/settings/domain/example.com"),
    ("DELETE", "/settings/domain/example.com"),
];

fn now() -> i64 {
    i64::try_from(SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap()
}

fn new_key() -> SigningKey {
    SigningKey::parse(&SigningKey::generate().unwrap()).unwrap()
}

/// A token that expires in an hour.
fn token(key: &SigningKey) -> String {
    key.sign(&TokenClaims::new("ada", "moz", now(), now() + 3600))
}

fn locked(key: &SigningKey) -> Api {
    let options = ApiOptions { signing_key: Some(key.clone()), ..ApiOptions::default() };
    Api::over(Museum::new(true), Web::serve(Site::new()), options)
}

#[test]
fn all_of_the_api_needs_a_token_before_its_body_is_read() {
    let (key, other) = (new_key(), new_key());
    let api = locked(&key);
    let stranger = format!("Bearer {}", token(&other));
    let expired = format!("Bearer {}", key.sign(&TokenClaims::new("ada", "moz", now() - 7200, now() - 3600)));
    for (method, path) in PROTECTED {
        // Neither the URL nor the body is looked at.
        let reply = api.send(method, path, &[], "{");
        assert_eq!(
            (reply.status, reply.text().as_str()),
            (401, "No Authorization Passed\n"),
            "{method} {path}"
        );
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        for (header, why) in [
            (&*stranger, "Invalid Token - signature is invalid\n"),
            (&*expired, "Invalid Token - token is expired\n"),
            ("Bearer x", "Invalid Token - token is malformed\n"),
            ("no-space", "No Authorization Passed\n"),
            ("Bearer ", "No Authorization Passed\n"),
        ] {
            let reply = api.send(method, path, &[("Authorization", header)], "{");
            assert_eq!((reply.status, reply.text().as_str()), (401, why), "{method} {path}: {header}");
        }
        let good = format!("AnyWord {}", token(&key));
        let status = api.send(method, path, &[("Authorization", &good)], "{").status;
        assert_ne!(status, 401, "{method} {path}");
    }
    for path in ["/", "/.well-known/health", "/.well-known/heartbeat", "/pages", "/cdx?url=http://e.org/"] {
        assert_eq!(api.send("GET", path, &[], "").status, 200, "{path}");
    }
}

#[test]
fn a_login_keeps_the_token_in_a_cookie() {
    let key = new_key();
    let api = locked(&key);
    assert_eq!(api.send("GET", "/admin/login", &[], "").status, 401);
    let expires = now() + 3600;
    let token = key.sign(&TokenClaims::new("ada", "moz", now(), expires));
    let reply = api.send("GET", "/admin/login", &[("Authorization", &format!("Bearer {token}"))], "");
    assert_eq!(value(&reply), json!({ "subject": "ada", "expires": expires }));
    let cookie = reply.header("set-cookie").unwrap().to_owned();
    assert!(cookie.starts_with(&format!("token={token}; Path=/; Expires=")), "{cookie}");
    assert!(cookie.ends_with(" GMT; HttpOnly; SameSite=Strict"), "{cookie}");

    let pair = cookie.split(';').next().unwrap();
    for header in [pair.to_owned(), format!("other=1; {pair}; more=2")] {
        assert_eq!(api.send("GET", "/settings/domain", &[("Cookie", &header)], "").status, 200, "{header}");
    }
    for header in ["token=", "token=x", "xtoken=1"] {
        assert_eq!(api.send("GET", "/settings/domain", &[("Cookie", header)], "").status, 401, "{header}");
    }
    // A cookie logs nobody in, and does not help a request of another site.
    assert_eq!(api.send("GET", "/admin/login", &[("Cookie", pair)], "").status, 401);
    let foreign = [("Cookie", pair), ("Sec-Fetch-Site", "cross-site")];
    assert_eq!(api.send("GET", "/settings/domain", &foreign, "").status, 403);
}

#[test]
fn a_token_that_does_not_expire_makes_a_cookie_of_the_session() {
    let key = new_key();
    let api = locked(&key);
    let claims = TokenClaims { expires: None, ..TokenClaims::new("ada", "moz", now(), 0) };
    let authorization = format!("Bearer {}", key.sign(&claims));
    let reply = api.send("GET", "/admin/login", &[("Authorization", &authorization)], "");
    assert_eq!(value(&reply), json!({ "subject": "ada", "expires": Value::Null }));
    assert!(!reply.header("set-cookie").unwrap().contains("Expires"));
}

#[test]
fn without_a_key_there_is_nothing_to_log_in_to() {
    let api = Api::new(Site::new());
    assert_eq!(api.send("GET", "/admin/login", &[], "").status, 204);
    assert_eq!(api.send("GET", "/settings/domain", &[], "").status, 200);
}
