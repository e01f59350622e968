//! The cookies of a run: what servers set is sent back to them, as RFC 6265 describes it.
//!
//! All requests of a client share one jar, with or without a browser. It holds secrets: cookies are
//! sent and never recorded, and no message shows them.
//!
//! A cookie for a public suffix, such as `co.uk`, is rejected; the list is that of the `psl` crate.
//! The number and the length of cookies that servers can set are limited.

mod merge;
mod netscape;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cookie_store::{Cookie, CookieDomain, CookieExpiration, CookieStore, RawCookie, StoreAction};
use url::Url;
use varve_core::exchange::Exchange;

pub use merge::sent_cookies;
pub(crate) use merge::{cookie_pairs, merge_cookies};
pub use netscape::CookieFileError;

use crate::credentials::is_header_value;

/// Maximum length of the name and the value of a cookie together, as in browsers.
const MAX_COOKIE_BYTES: usize = 4096;
/// Maximum length of a `Set-Cookie` value that is read.
const MAX_LINE_BYTES: usize = 16 << 10;
/// Maximum number of cookies that the servers of one site can set, as in browsers.
const MAX_SITE_COOKIES: usize = 180;
/// Maximum number of cookies that all servers together can set.
const MAX_ALL_COOKIES: usize = 10_000;
/// Maximum length of a `Cookie` header. Servers reject longer ones.
const MAX_HEADER_BYTES: usize = 16 << 10;

/// The cookies of a run. Cloning shares them.
#[derive(Clone, Default)]
pub struct CookieJar(Arc<Mutex<JarState>>);

#[derive(Clone, Default)]
struct JarState {
    store: CookieStore,
    /// How many cookies each site has set.
    set_by_site: HashMap<String, usize>,
    set_by_all: usize,
}

/// A cookie with its scope, for a browser.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only the browser needs it"))]
pub(crate) struct ScopedCookie {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) host: String,
    /// Whether it is sent to hosts below `host` too.
    pub(crate) with_subdomains: bool,
    pub(crate) path: String,
    pub(crate) secure: bool,
    pub(crate) http_only: bool,
    /// Seconds since 1970; `None` if it lasts as long as the run.
    pub(crate) expires: Option<i64>,
}

impl ScopedCookie {
    /// A URL that the cookie is sent to.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{scheme}://{host}{}", self.path)
    }
}

impl CookieJar {
    /// An empty jar.
    pub fn new() -> Self {
        Self::default()
    }

    /// A jar with the cookies of a file in the Netscape format, which browsers, curl and wget use.
    pub fn parse_netscape(text: &str) -> Result<Self, CookieFileError> {
        let jar = Self::new();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        for (line, cookie) in netscape::cookies(text) {
            let cookie = cookie.map_err(|problem| CookieFileError { line, problem })?;
            let is_expired = cookie.expires.is_some_and(|time| time <= now.as_secs().cast_signed());
            if !is_expired && !jar.insert(&cookie) {
                return Err(CookieFileError { line, problem: netscape::UNUSABLE_COOKIE });
            }
        }
        Ok(jar)
    }

    /// A jar with the same cookies, which changes by itself.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self(Arc::new(Mutex::new(self.state().clone())))
    }

    fn state(&self) -> MutexGuard<'_, JarState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request to a URL has cookies.
    pub fn has_cookies_for(&self, url: &str) -> bool {
        !self.pairs_for(url).is_empty()
    }

    /// The cookies for a request to a URL, those with the longest path first.
    pub(crate) fn pairs_for(&self, url: &str) -> Vec<(String, String)> {
        let Ok(url) = Url::parse(url) else { return Vec::new() };
        let state = self.state();
        let mut cookies = state.store.matches(&url);
        cookies.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let (mut pairs, mut length) = (Vec::new(), 0);
        for cookie in cookies {
            let (name, value) = (cookie.name(), cookie.value());
            length += name.len() + value.len() + 3;
            if length > MAX_HEADER_BYTES {
                break;
            }
            if is_header_value(name) && is_header_value(value) {
                pairs.push((name.to_owned(), value.to_owned()));
            }
        }
        pairs
    }

    /// Takes the cookies that a response sets.
    pub(crate) fn take_response(&self, exchange: &Exchange) {
        let Some(head) = exchange.head().ok().flatten() else { return };
        let is_setting = |name: &[u8]| name.eq_ignore_ascii_case(b"set-cookie");
        let mut lines = head.headers.iter().filter(|(name, _)| is_setting(name)).peekable();
        if lines.peek().is_none() {
            return;
        }
        let Ok(url) = Url::parse(&exchange.url) else { return };
        let mut state = self.state();
        for (_, line) in lines.filter(|(_, line)| line.len() <= MAX_LINE_BYTES) {
            // A cookie that is not UTF-8 could not be sent back as it came.
            let parsed = std::str::from_utf8(line).ok().and_then(|line| RawCookie::parse(line).ok());
            if let Some(cookie) = parsed {
                state.set_by_server(cookie.into_owned(), &url);
            }
        }
    }

    /// Adds a cookie that a user or a browser has. False if it is for no host, or for all hosts below
    /// a public suffix.
    pub(crate) fn insert(&self, cookie: &ScopedCookie) -> bool {
        let is_known = |host: &str| {
            psl::suffix(host.as_bytes()).is_some_and(|suffix| suffix.is_known() && suffix == host)
        };
        if cookie.with_subdomains && is_known(&cookie.host) {
            return false;
        }
        let Ok(url) = Url::parse(&cookie.url()) else { return false };
        let mut raw = match cookie.expires {
            Some(time) => expiring_at(time),
            None => RawCookie::new("", ""),
        };
        raw.set_name(cookie.name.clone());
        raw.set_value(cookie.value.clone());
        raw.set_path(cookie.path.clone());
        raw.set_secure(cookie.secure);
        raw.set_http_only(cookie.http_only);
        if cookie.with_subdomains {
            raw.set_domain(cookie.host.clone());
        }
        check_domain(&mut raw, &url) && self.state().store.insert_raw(&raw, &url).is_ok()
    }

    /// All cookies that are not expired.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only the browser needs it"))]
    pub(crate) fn all(&self) -> Vec<ScopedCookie> {
        self.state().store.iter_unexpired().filter_map(scoped).collect()
    }
}

impl fmt::Debug for CookieJar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CookieJar({} cookies)", self.state().store.iter_any().count())
    }
}

impl JarState {
    fn set_by_server(&mut self, mut cookie: RawCookie<'static>, url: &Url) {
        let is_short = cookie.name().len() + cookie.value().len() <= MAX_COOKIE_BYTES;
        if !is_short || !is_allowed(&cookie, url) || !check_domain(&mut cookie, url) {
            return;
        }
        let site = site_of(url);
        let count = self.set_by_site.get(&site).copied().unwrap_or_default();
        let is_full = count >= MAX_SITE_COOKIES || self.set_by_all >= MAX_ALL_COOKIES;
        if is_full && !self.has(&cookie, url) {
            return;
        }
        match self.store.insert_raw(&cookie, url) {
            Ok(StoreAction::Inserted) => {
                *self.set_by_site.entry(site).or_default() += 1;
                self.set_by_all += 1;
            }
            Ok(StoreAction::ExpiredExisting) => {
                if let Some(count) = self.set_by_site.get_mut(&site) {
                    *count = count.saturating_sub(1);
                    self.set_by_all = self.set_by_all.saturating_sub(1);
                }
            }
            // An update adds nothing, and a cookie that does not fit its URL is ignored.
            Ok(StoreAction::UpdatedExisting) | Err(_) => {}
        }
    }

    /// Whether a cookie would replace another.
    fn has(&self, cookie: &RawCookie<'static>, url: &Url) -> bool {
        let Ok(cookie) = Cookie::try_from_raw_cookie(cookie, url) else { return false };
        let domain = cookie.domain.as_cow().unwrap_or_default();
        self.store.contains_any(&domain, &cookie.path, cookie.name())
    }
}

/// A cookie without name and value that expires at a time.
fn expiring_at(time: i64) -> RawCookie<'static> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seconds = time.saturating_sub(now.as_secs().cast_signed());
    RawCookie::parse(format!("x=x; Max-Age={seconds}")).unwrap_or_else(|_| RawCookie::new("", ""))
}

/// Whether a server may set a cookie: a secure one only over TLS, and the prefixes of names hold
/// what they promise.
fn is_allowed(cookie: &RawCookie<'_>, url: &Url) -> bool {
    let is_secure = cookie.secure() == Some(true);
    let is_bound = || cookie.domain().is_none() && cookie.path() == Some("/");
    let has_prefix = |prefix: &str| cookie.name().starts_with(prefix);
    (!is_secure || url.scheme() == "https")
        && (!has_prefix("__Secure-") || is_secure)
        && (!has_prefix("__Host-") || (is_secure && is_bound()))
}

/// Whether the domain of a cookie is not a public suffix. A host that is one may set cookies for
/// itself.
fn check_domain(cookie: &mut RawCookie<'_>, url: &Url) -> bool {
    let Some(domain) = cookie.domain().map(|domain| domain.trim_start_matches('.').to_ascii_lowercase())
    else {
        return true;
    };
    let is_suffix = psl::suffix_str(&domain).is_some_and(|suffix| suffix == domain);
    let host = url.host_str().unwrap_or_default();
    let is_address = matches!(url.host(), Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)));
    if domain == host && (is_suffix || is_address) {
        cookie.unset_domain();
        return true;
    }
    !is_suffix
}

/// The registrable domain of a URL, or its host.
fn site_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    psl::domain_str(host).unwrap_or(host).to_owned()
}

fn scoped(cookie: &Cookie<'static>) -> Option<ScopedCookie> {
    let (host, with_subdomains) = match &cookie.domain {
        CookieDomain::HostOnly(host) => (host.clone(), false),
        CookieDomain::Suffix(host) => (host.clone(), true),
        CookieDomain::NotPresent | CookieDomain::Empty => return None,
    };
    let expires = match cookie.expires {
        CookieExpiration::AtUtc(time) => Some(time.unix_timestamp()),
        CookieExpiration::SessionEnd => None,
    };
    Some(ScopedCookie {
        name: cookie.name().to_owned(),
        value: cookie.value().to_owned(),
        host,
        with_subdomains,
        path: cookie.path.to_string(),
        secure: cookie.secure() == Some(true),
        http_only: cookie.http_only() == Some(true),
        expires,
    })
}

#[cfg(test)]
mod tests;
