//! The cookies of requests, which a project records with its revisions.

use varve_core::secret::Secret;
use varve_fetch::{CookieJar, Credentials, sent_cookies};

/// The cookies of a run.
pub(crate) struct RequestCookies {
    credentials: Credentials,
    /// The cookies now.
    jar: CookieJar,
    /// The cookies that the user gave, without those that servers have set since.
    given: CookieJar,
}

impl RequestCookies {
    /// The cookies of a run that begins.
    pub(crate) fn new(credentials: Credentials, jar: CookieJar) -> Self {
        let given = jar.snapshot();
        Self { credentials, jar, given }
    }

    /// The `Cookie` header of a request to a URL.
    pub(crate) fn sent_to(&self, url: &str) -> Option<Secret<String>> {
        sent_cookies(&self.credentials, &self.jar, url)
    }

    /// Whether the user gives a cookie for a URL that an earlier request did not have. Cookies that
    /// only servers set do not matter.
    pub(crate) fn differ_from(&self, url: &str, recorded: Option<&Secret<String>>) -> bool {
        let Some(given) = sent_cookies(&self.credentials, &self.given, url) else { return false };
        let recorded = recorded.map_or("", |cookie| cookie.expose());
        let had: Vec<&str> = recorded.split(';').map(str::trim).collect();
        given.expose().split(';').any(|pair| !had.contains(&pair.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_compared_with_the_cookies_that_the_user_gives() {
        let credentials = Credentials::parse("http://h.example Cookie: a=1").unwrap();
        let file = "h.example\tFALSE\t/\tFALSE\t0\tb\t2";
        let cookies = RequestCookies::new(credentials, CookieJar::parse_netscape(file).unwrap());
        let differ = |url: &str, recorded: Option<&str>| {
            cookies.differ_from(url, recorded.map(|text| Secret::new(text.to_owned())).as_ref())
        };
        for (recorded, is_other) in [
            (None, true),
            (Some("a=1"), true),
            (Some("a=1; b=3"), true),
            (Some("a=1; b=2"), false),
            (Some("a=1; b=2; set_by_server=3"), false),
        ] {
            assert_eq!(differ("http://h.example/x", recorded), is_other, "{recorded:?}");
        }
        assert!(!differ("http://other.example/", Some("a=1")));
        assert_eq!(cookies.sent_to("http://h.example/").unwrap().expose(), "a=1; b=2");
    }
}
