//! Cookies between the jar of the run and the page of a browser.
//!
//! A page begins with the cookies of the jar, so that its scripts see them. Requests of the page
//! carry the cookies that the browser then has. What its scripts set is in the jar when the page is
//! done.

use serde_json::{Value, json};

use super::browser_page::PageSession;
use crate::cookies::{CookieJar, ScopedCookie};
use crate::error::FetchError;

/// Gives the cookies of the jar to a page that has not been loaded yet.
pub(super) async fn give_cookies(session: &PageSession, jar: &CookieJar) -> Result<(), FetchError> {
    let cookies: Vec<Value> = jar.all().iter().map(parameters).collect();
    if cookies.is_empty() {
        return Ok(());
    }
    let all = json!({ "cookies": cookies });
    if session.call("Network.setCookies", all).await.is_ok() {
        return Ok(());
    }
    // One cookie that the browser rejects fails the call for all. The client sends such a cookie
    // though scripts do not see it.
    for cookie in cookies {
        let _ = session.call("Network.setCookie", cookie).await;
    }
    Ok(())
}

/// Takes the cookies of a page into the jar.
pub(super) async fn take_cookies(session: &PageSession, jar: &CookieJar) -> Result<(), FetchError> {
    let found = session.call("Network.getAllCookies", json!({})).await?;
    for cookie in found["cookies"].as_array().into_iter().flatten().filter_map(scoped) {
        jar.insert(&cookie);
    }
    Ok(())
}

/// A cookie as the browser takes it. One without subdomains has a URL in place of a domain.
fn parameters(cookie: &ScopedCookie) -> Value {
    let mut parameters = json!({
        "name": cookie.name, "value": cookie.value, "path": cookie.path,
        "secure": cookie.secure, "httpOnly": cookie.http_only, "url": cookie.url(),
    });
    if cookie.with_subdomains {
        parameters["domain"] = json!(format!(".{}", cookie.host));
    }
    if let Some(time) = cookie.expires {
        parameters["expires"] = json!(time);
    }
    parameters
}

/// A cookie as the browser returns it.
fn scoped(cookie: &Value) -> Option<ScopedCookie> {
    let text = |name: &str| cookie[name].as_str().map(str::to_owned);
    let domain = text("domain")?;
    let is_session = cookie["session"] == true;
    Some(ScopedCookie {
        name: text("name")?,
        value: text("value")?,
        host: domain.trim_start_matches('.').trim_matches(['[', ']']).to_owned(),
        with_subdomains: domain.starts_with('.'),
        path: text("path")?,
        secure: cookie["secure"] == true,
        http_only: cookie["httpOnly"] == true,
        expires: cookie["expires"].as_f64().filter(|_| !is_session).map(|time| time as i64),
    })
}
