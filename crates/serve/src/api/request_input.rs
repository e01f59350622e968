//! What a client asks for: a URL in the query, in a form or in JSON; a batch of URLs; settings.
//!
//! The rules are those of scrape. A body that is no form is read as JSON, also without a media type.
//! Unknown fields are ignored in requests for one URL, and refused in batches and settings.

use std::time::Duration;

use axum::RequestExt as _;
use axum::body::{Body, to_bytes};
use axum::extract::{Multipart, Request};
use bytes::Bytes;
use http::Method;
use http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use varve_archive::verbs::key::ShownUrl;
use varve_core::url::Reference;

use super::error::ApiError;
use crate::request::{RequestParts, form_values};

/// Bytes of the body of a request for one URL.
const MAX_SINGLE_BYTES: usize = 4096;
/// Bytes of the body of a batch.
const MAX_BATCH_BYTES: usize = 32_768;
/// Bytes of the body with the settings of a domain.
const MAX_SETTINGS_BYTES: usize = 4096;
/// How long a client may take to send a body.
const BODY_READ_TIMEOUT: Duration = Duration::from_secs(10);

/// A request for one URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UrlInput {
    /// The URL as it was given.
    pub(super) url: String,
    /// Whether the response is indented.
    pub(super) is_pretty: bool,
    /// The time whose state answers, if not the present.
    pub(super) at: Option<String>,
}

/// The JSON form of a request for one URL.
#[derive(Deserialize)]
struct UrlObject {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    pp: Option<bool>,
    #[serde(default)]
    at: Option<String>,
}

/// The JSON form of a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchObject {
    #[serde(default)]
    urls: Option<Vec<String>>,
}

impl UrlInput {
    /// Reads a request for one URL.
    pub(super) async fn read(request: Request) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        if matches!(parts.method, Method::GET | Method::HEAD) {
            return Self::from_values(&parts, |_| None);
        }
        let body = read_body(body, MAX_SINGLE_BYTES).await?;
        match FormKind::of(&parts) {
            // Nothing in the body: what there is stands in the query.
            _ if body.is_empty() => Self::from_values(&parts, |_| None),
            Some(FormKind::Encoded) => Self::from_values(&parts, |name| {
                let text = std::str::from_utf8(&body).unwrap_or_default();
                form_values(text, name).find(|value| !value.is_empty())
            }),
            Some(FormKind::Multipart) => {
                let fields = multipart_fields(&parts, body).await?;
                let value = |wanted: &str| fields.iter().find(|(name, _)| name == wanted);
                Self::from_values(&parts, |name| value(name).map(|(_, value)| value.clone()))
            }
            None => Self::from_json(&parts, &body),
        }
    }

    /// From a form, or where it has no value from the query.
    fn from_values(parts: &Parts, form: impl Fn(&str) -> Option<String>) -> Result<Self, ApiError> {
        let value = |name: &str| form(name).or_else(|| parts.parameter(name));
        let url = value("url").ok_or_else(|| ApiError::bad_request("No URL provided"))?;
        check_url(&url)?;
        Ok(Self { url, is_pretty: value("pp").as_deref() == Some("1"), at: value("at") })
    }

    fn from_json(parts: &Parts, body: &[u8]) -> Result<Self, ApiError> {
        let object: UrlObject = parse_json(body)?;
        let url = object.url.filter(|url| !url.is_empty());
        let url = url.ok_or_else(|| ApiError::bad_request("Error decoding request: URL is required"))?;
        if check_url(&url)?.is_empty() {
            return Err(ApiError::bad_request("Error decoding request: URL must be absolute"));
        }
        let is_pretty = object.pp.unwrap_or(false) || wants_pretty(parts);
        Ok(Self { url, is_pretty, at: object.at.or_else(|| parts.parameter("at")) })
    }
}

/// Whether `pp=1` stands in the query.
pub(super) fn wants_pretty(parts: &Parts) -> bool {
    parts.parameter("pp").as_deref() == Some("1")
}

/// Reads a batch.
pub(super) async fn read_batch(body: Body) -> Result<Vec<String>, ApiError> {
    let body = read_body(body, MAX_BATCH_BYTES).await?;
    let batch: BatchObject = parse_json(&body)?;
    Ok(batch.urls.unwrap_or_default())
}

/// Reads the settings of a domain.
pub(super) async fn read_settings<T: DeserializeOwned>(body: Body) -> Result<T, ApiError> {
    parse_json(&read_body(body, MAX_SETTINGS_BYTES).await?)
}

/// Fails if a text is no URL, and returns its scheme. A URL with a password is refused, so that no
/// password is stored.
fn check_url(url: &str) -> Result<String, ApiError> {
    if ShownUrl(url).has_user_info() {
        return Err(ApiError::bad_request(
            "Invalid URL provided: URLs with a user name or a password are refused",
        ));
    }
    let invalid = |error| ApiError::bad_request(format!("Invalid URL provided: {url:?}, {error}"));
    Ok(Reference::parse(url).map_err(invalid)?.scheme().into_owned())
}

/// Parses an object. An array is not one, though its elements could stand for fields.
fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(ApiError::bad_request("Invalid JSON: expected an object"));
    }
    serde_json::from_slice(body).map_err(|error| ApiError::bad_request(format!("Invalid JSON: {error}")))
}

async fn read_body(body: Body, limit: usize) -> Result<Bytes, ApiError> {
    let read = tokio::time::timeout(BODY_READ_TIMEOUT, to_bytes(body, limit)).await;
    let read =
        read.map_err(|_| ApiError::new(http::StatusCode::REQUEST_TIMEOUT, "The body did not arrive"))?;
    read.map_err(|error| match std::error::Error::source(&error) {
        Some(cause) if cause.is::<http_body_util::LengthLimitError>() => ApiError::too_large(limit),
        _ => ApiError::bad_request("The body could not be read"),
    })
}

/// How a form is encoded.
enum FormKind {
    Encoded,
    Multipart,
}

impl FormKind {
    /// The encoding that `Content-Type` names; `None` if the body is no form, and so JSON.
    fn of(parts: &Parts) -> Option<Self> {
        let media_type = parts.header("content-type")?.split(';').next()?.trim();
        match media_type.to_ascii_lowercase().as_str() {
            "application/x-www-form-urlencoded" => Some(Self::Encoded),
            "multipart/form-data" => Some(Self::Multipart),
            _ => None,
        }
    }
}

/// The fields of a form with `multipart/form-data`, in order.
async fn multipart_fields(parts: &Parts, body: Bytes) -> Result<Vec<(String, String)>, ApiError> {
    let invalid = |_| ApiError::bad_request("Invalid form");
    let request = Request::from_parts(parts.clone(), Body::from(body));
    let mut form =
        request.extract::<Multipart, _>().await.map_err(|_| ApiError::bad_request("Invalid form"))?;
    let mut fields = Vec::new();
    while let Some(field) = form.next_field().await.map_err(invalid)? {
        let name = field.name().unwrap_or_default().to_owned();
        fields.push((name, field.text().await.map_err(invalid)?));
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use serde_json::json;

    use super::*;

    const URL: &str = "http://example.com/a?b=c&d";
    const FORM: &str = "application/x-www-form-urlencoded";

    async fn read(method: &str, target: &str, media_type: &str, body: &str) -> Result<UrlInput, u16> {
        let mut request = http::Request::builder().method(method).uri(target);
        if !media_type.is_empty() {
            request = request.header("content-type", media_type);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        UrlInput::read(request).await.map_err(|error| error.into_response().status().as_u16())
    }

    fn input(is_pretty: bool, at: Option<&str>) -> Result<UrlInput, u16> {
        Ok(UrlInput { url: URL.to_owned(), is_pretty, at: at.map(str::to_owned) })
    }

    #[tokio::test]
    async fn a_url_comes_in_the_query_in_a_form_or_in_json() {
        let query = "/extract?url=http%3A%2F%2Fexample.com%2Fa%3Fb%3Dc%26d";
        assert_eq!(read("GET", query, "", "").await, input(false, None));
        assert_eq!(read("GET", &format!("{query}&pp=1&at=2026"), "", "").await, input(true, Some("2026")));
        assert_eq!(read("GET", &format!("{query}&pp=true"), "", "").await, input(false, None));
        assert_eq!(read("POST", query, "", "").await, input(false, None));
        assert_eq!(read("DELETE", query, "", "").await, input(false, None));
        let form = "pp=1&url=http://example.com/a?b=c%26d";
        assert_eq!(read("POST", "/extract", FORM, form).await, input(true, None));
        let with_charset = format!("{FORM}; charset=utf-8");
        assert_eq!(read("DELETE", "/extract", &with_charset, form).await, input(true, None));
        // The form counts before the query.
        assert_eq!(read("POST", "/extract?url=http://other.example/", FORM, form).await, input(true, None));
        let multipart = format!(
            "--b\r\nContent-Disposition: form-data; name=\"url\"\r\n\r\n{URL}\r\n\
             --b\r\nContent-Disposition: form-data; name=\"pp\"\r\n\r\n1\r\n--b--\r\n"
        );
        assert_eq!(
            read("POST", "/extract", "multipart/form-data; boundary=b", &multipart).await,
            input(true, None)
        );
        for media_type in ["application/json", "text/plain", ""] {
            let object = json!({ "url": URL, "pp": true, "unknown": 1, "at": "2026" }).to_string();
            assert_eq!(read("POST", "/extract", media_type, &object).await, input(true, Some("2026")));
        }
        let object = json!({ "url": URL }).to_string();
        assert_eq!(read("POST", "/extract?pp=1", "", &object).await, input(true, None));
    }

    #[tokio::test]
    async fn what_is_no_url_is_refused() {
        for target in
            ["/extract", "/extract?url=", "/extract?urls=http://a.example/", "/extract?url=http://a%20b/"]
        {
            assert_eq!(read("GET", target, "", "").await, Err(400), "{target}");
        }
        // Queries and forms need no scheme: the fetch fails then.
        assert!(read("GET", "/extract?url=example.com", "", "").await.is_ok());
        assert_eq!(read("GET", "/extract?url=http://u:p@a.example/", "", "").await, Err(400));
        for body in [
            r#"{"url":"example.com"}"#,
            r#"{"url":""}"#,
            r#"{"urls":["http://a.example/"]}"#,
            r#"{"url":1}"#,
            r#"{"url":"http://a.example/","pp":"yes"}"#,
            r#"{"url":"http://a.example/""#,
            r#"{"url":"http://u:p@a.example/"}"#,
            "url=http://a.example/",
            "[]",
            "\u{0}",
        ] {
            assert_eq!(read("POST", "/extract", "application/json", body).await, Err(400), "{body}");
        }
        assert_eq!(read("POST", "/extract", FORM, "urls=x").await, Err(400));
        assert_eq!(read("POST", "/extract", "multipart/form-data", "x").await, Err(400));
    }

    #[tokio::test]
    async fn bodies_have_limits() {
        let object = |length: usize| {
            let padding = "a".repeat(length - r#"{"url":"http://a.example/"}"#.len());
            format!(r#"{{"url":"http://a.example/{padding}"}}"#)
        };
        assert!(read("POST", "/extract", "", &object(4096)).await.is_ok());
        assert_eq!(read("POST", "/extract", "", &object(4097)).await, Err(413));
        assert_eq!(read("POST", "/extract", FORM, &object(4097)).await, Err(413));
        let batch = |length: usize| {
            let padding = "a".repeat(length - r#"{"urls":["http://a.example/"]}"#.len());
            read_batch(Body::from(format!(r#"{{"urls":["http://a.example/{padding}"]}}"#)))
        };
        assert_eq!(batch(32_768).await.unwrap().len(), 1);
        assert_eq!(batch(32_769).await.unwrap_err().into_response().status(), 413);
    }

    #[tokio::test]
    async fn batches_refuse_unknown_fields() {
        let batch = |text: &'static str| async move {
            read_batch(Body::from(text)).await.map_err(|error| error.into_response().status().as_u16())
        };
        assert_eq!(batch(r#"{"urls":["a","b"]}"#).await, Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(batch("{}").await, Ok(vec![]));
        for text in [r#"{"urls":["a"],"pp":1}"#, r#"{"urls":"a"}"#, r#"{"urls":[1]}"#, "", "[]"] {
            assert_eq!(batch(text).await, Err(400), "{text}");
        }
    }
}
